"""First runs in a child process: what kills a process kills that one."""
