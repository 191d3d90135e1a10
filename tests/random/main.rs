//! Random worlds: agents, a user and a second editor change the same files in every way there is, and nothing is lost. Some
//! are in a real Neovim (`$NVIM_BIN`, else `nvim`), very many in an editor in memory. `RAT_SEED` and `RAT_STEPS` in the
//! environment choose other worlds; with `RAT_FROM`, those of the first so many steps are left out.

// Helpers of tests are tests; the lint knows only functions marked so.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod beside;
mod command;
mod desk;
#[path = "../support/dice.rs"]
mod dice;
mod disk;
mod headless;
mod histories;
mod late;
mod left;
mod memory;
mod model;
mod moved;
mod neovim;
#[path = "../documents/nvim.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of it")]
mod nvim;
mod quiet;
mod review;
mod trail;
mod turns;
mod unopened;
mod user;
mod words;
mod world;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Instant;

use desk::Desk;
use dice::Dice;
use memory::Memory;
use neovim::Neovim;
use trail::Trail;
use world::{Habits, World};

/// The same worlds for everybody: a change that breaks one is to blame for it. New ones are looked for with other seeds.
const SEED: u64 = 20_261_121;
const STEPS: usize = 10_000;
const STEPS_IN_MEMORY: usize = 10_000;
const STEPS_OF_A_WORLD: usize = 250;
/// So many worlds at once.
const ABREAST: usize = 2;

/// In which editor a world is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Neovim,
    Memory,
}

impl Place {
    async fn desk(self, seed: u64) -> Box<dyn Desk> {
        match self {
            Self::Neovim => Neovim::start(&format!("random-{seed}")).await,
            Self::Memory => Memory::start(seed),
        }
    }
}

/// Holds (Files): Nothing is lost, whoever changes a file and however, and each change is attributed to its author.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost() {
    play_worlds(Place::Neovim, STEPS).await;
}

/// Holds (Files): Nothing is lost, whoever changes a file and however, and each change is attributed to its author.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_in_memory() {
    play_worlds(Place::Memory, STEPS_IN_MEMORY).await;
}

const NEITHER: Habits = Habits { reviews: false, undoes: false };

/// Worlds in memory in which something was lost or duplicated once.
const FOUND: &[(u64, Habits)] = &[
    (14_375_813_011_970_930_713, NEITHER),
    (18_445_749_069_809_990_298, NEITHER),
    (8_245_870_197_416_617_618, NEITHER),
    (3_894_168_915_674_749_866, NEITHER),
];

/// The same, with the habits of their seeds.
const FOUND_WITH_HABITS: &[u64] = &[
    10_451_216_379_200_822_465,
    2_857_595_591_032_472_440,
    802_048_205_307_360_762,
    15_762_223_020_352_519_486,
    7_265_820_404_252_099_947,
    4_940_819_089_164_520_145,
    16_142_347_960_443_998_232,
    9_892_375_255_501_129_151,
    10_772_636_264_845_629_793,
    677_970_943_864_597_537,
    2_460_654_513_015_053_210,
    17_164_041_345_336_998_207,
    10_523_587_736_685_294_069,
    15_692_273_852_424_213_624,
    15_435_006_108_122_373_664,
    15_427_985_892_464_113_472,
    8_143_256_667_813_385_551,
    8_591_920_327_449_922_728,
    1_009_801_588_834_629_620,
    17_239_459_903_117_759_360,
    13_180_401_984_415_465_778,
    17_935_164_139_722_566_034,
    15_754_028_765_899_833_734,
    12_617_004_905_479_054_538,
    16_009_357_552_909_130_599,
    8_170_904_801_372_386_738,
    8_151_838_907_487_045_066,
    18_101_219_608_331_287_059,
    10_327_431_806_078_731_265,
    13_651_271_104_635_364_201,
    9_078_418_928_516_448_930,
];

/// The same in Neovim.
const FOUND_IN_NEOVIM: &[u64] = &[14_081_447_587_098_176_700];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_where_it_once_was() {
    let in_memory = |(seed, habits)| (Place::Memory, seed, habits);
    let found = FOUND.iter().copied().map(in_memory);
    let with_habits = FOUND_WITH_HABITS.iter().map(|&seed| in_memory((seed, habits(seed))));
    let in_neovim = FOUND_IN_NEOVIM.iter().map(|&seed| (Place::Neovim, seed, habits(seed)));
    for (place, seed, habits) in found.chain(with_habits).chain(in_neovim) {
        if let Err(why) = world(place, seed, habits).await {
            panic!("{why}");
        }
    }
}

async fn play_worlds(place: Place, steps: usize) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("RAT_SEED").unwrap_or(SEED);
    let steps = number("RAT_STEPS").map_or(steps, |steps| usize::try_from(steps).unwrap());
    let from = number("RAT_FROM").map_or(0, |from| usize::try_from(from).unwrap());
    // Not captured, so that it can be read while the test runs and when it hangs.
    let mut out = std::io::stderr();
    writeln!(out, "{place:?}: RAT_SEED={seed} RAT_STEPS={steps} RAT_FROM={from}").unwrap();
    let began = Instant::now();
    let mut dice = Dice::new(seed);
    // The first is the seed itself, so that a world can be played alone.
    let worlds = std::iter::once(seed).chain(std::iter::repeat_with(|| dice.next()));
    let worlds = worlds.take(steps.div_ceil(STEPS_OF_A_WORLD));
    let worlds: Vec<u64> = worlds.skip(from.div_ceil(STEPS_OF_A_WORLD)).collect();
    let mut before = from.next_multiple_of(STEPS_OF_A_WORLD);
    for abreast in worlds.chunks(ABREAST) {
        let worlds = abreast.iter().map(|&seed| tokio::spawn(world(place, seed, habits(seed))));
        let worlds: Vec<_> = worlds.collect();
        for world in worlds {
            if let Err(why) = world.await.unwrap() {
                panic!("{why}, the one after {before} steps of {seed}");
            }
            before += STEPS_OF_A_WORLD;
        }
    }
    let (took, played) = (began.elapsed(), steps.saturating_sub(from));
    writeln!(out, "{place:?}: {played} steps in {took:.1?}").unwrap();
}

/// In half of the worlds the user keeps and rejects what agents have changed; in half of all, turns are undone.
fn habits(seed: u64) -> Habits {
    let mut dice = Dice::new(seed.rotate_left(17));
    Habits { reviews: dice.once_in(2), undoes: dice.once_in(2) }
}

/// Plays one world.
async fn world(place: Place, seed: u64, habits: Habits) -> Result<(), String> {
    let steps = STEPS_OF_A_WORLD;
    let Err(mut failure) = play(place, (seed, habits), BTreeSet::new(), steps).await else {
        return Ok(());
    };
    if place == Place::Memory {
        failure = shrink((seed, habits), failure).await;
    }
    let Failure { trail, why, .. } = failure;
    let again = format!("RAT_SEED={seed} RAT_STEPS={STEPS_OF_A_WORLD} plays this world again");
    Err(format!("\n{trail}{why}\n{again}"))
}

/// Where and why a world has failed.
struct Failure {
    step: usize,
    why: String,
    trail: String,
}

async fn play(
    place: Place,
    (seed, habits): (u64, Habits),
    left_out: BTreeSet<usize>,
    steps: usize,
) -> Result<(), Failure> {
    let trail = Trail::default();
    let in_world = trail.clone();
    let played = tokio::spawn(async move {
        let mut world = World::new(place.desk(seed).await, (seed, habits), in_world).await;
        for number in (1..=steps).filter(|number| !left_out.contains(number)) {
            world.step(number).await?;
        }
        world.quiet().await
    });
    let why = match played.await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(panic) => panic.to_string(),
    };
    Err(Failure { step: trail.at(), why, trail: trail.lines() })
}

/// Leaves out whatever is not needed for a world to fail, more and more finely.
async fn shrink(seed: (u64, Habits), mut failure: Failure) -> Failure {
    let mut left_out = BTreeSet::new();
    let mut size = STEPS_OF_A_WORLD / 2;
    while size > 0 {
        let mut from = 1;
        while from <= failure.step {
            let fewer: BTreeSet<usize> =
                left_out.iter().copied().chain(from..from + size).collect();
            if fewer.len() > left_out.len()
                && let Err(again) = play(Place::Memory, seed, fewer.clone(), failure.step).await
            {
                (failure, left_out) = (again, fewer);
            }
            from += size;
        }
        size /= 2;
    }
    failure
}
