"""Parts of Abacus's controller: the search of a group, the headroom that bounds it."""
