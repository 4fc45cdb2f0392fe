"""From a file to an answer: the stages in order, and ``load`` which runs them all."""
