//! Which face of the binary is meant: the bridge (default) or the tour.

fn main() {}
