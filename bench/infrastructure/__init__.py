"""What benches share: turns, results, peers, processes."""
