"""MLPerf's scenarios, by MLCommons' own LoadGen, on the targets that the other verbs have."""
