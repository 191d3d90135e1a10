//! Generated inputs of random tests: which are played, and how one that fails is played alone.

use std::io::Write as _;
use std::ops::Range;

use super::Dice;

const SEED: u64 = 20_261_126;
const COUNT: u64 = 1_000;

/// The inputs of one class. `RAT_HOSTILE_SEED`, `RAT_HOSTILE` (how many) and `RAT_HOSTILE_FROM` (the first) choose others.
pub(crate) struct Inputs {
    class: &'static str,
    seed: u64,
    numbers: Range<u64>,
}

impl Inputs {
    /// Those that the environment chooses, which are printed.
    pub(crate) fn of(class: &'static str) -> Self {
        Self::of_many(class, COUNT)
    }

    /// The same; so many unless the environment says how many.
    pub(crate) fn of_many(class: &'static str, count: u64) -> Self {
        let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
        let first = number("RAT_HOSTILE_FROM").unwrap_or(0);
        let count = number("RAT_HOSTILE").unwrap_or(count);
        let seed = number("RAT_HOSTILE_SEED").unwrap_or(SEED);
        let inputs = Self { class, seed, numbers: first..first + count };
        // Not captured, so that it can be read while the test runs and when it hangs.
        let mut out = std::io::stderr();
        writeln!(out, "{class}: {}", inputs.again(&inputs.numbers)).unwrap();
        inputs
    }

    /// Calls `play` with the numbers of up to `size` inputs at a time. If it fails, says how to play these again.
    pub(crate) fn in_batches(&self, size: u64, mut play: impl FnMut(Range<u64>)) {
        let mut start = self.numbers.start;
        while start < self.numbers.end {
            let batch = start..(start + size).min(self.numbers.end);
            start = batch.end;
            let told = Told { inputs: self, batch: batch.clone() };
            play(batch);
            drop(told);
        }
    }

    /// The chance that makes this input, and no other.
    pub(crate) fn dice(&self, number: u64) -> Dice {
        let class = self.class.bytes().fold(0_u64, |sum, byte| (sum << 5) ^ u64::from(byte));
        let mut dice = Dice::new(self.seed ^ class);
        Dice::new(dice.next() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn again(&self, numbers: &Range<u64>) -> String {
        let count = numbers.end - numbers.start;
        format!(
            "RAT_HOSTILE_SEED={} RAT_HOSTILE_FROM={} RAT_HOSTILE={count}",
            self.seed, numbers.start
        )
    }
}

/// Says in a failure which inputs were being played.
struct Told<'a> {
    inputs: &'a Inputs,
    batch: Range<u64>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let again = self.inputs.again(&self.batch);
            // Fails only where nobody reads.
            let _ = writeln!(std::io::stderr(), "{again} plays these {} again", self.inputs.class);
        }
    }
}
