//! Random worlds in a real Neovim (`$NVIM_BIN`, else `nvim`): agents, a user and a second editor change the same files in
//! every way there is, and nothing is lost. `RAT_SEED` and `RAT_STEPS` in the environment choose other worlds.

// Helpers of tests are tests; the lint knows only functions marked so.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod beside;
mod dice;
mod model;
#[path = "../documents/nvim.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of it")]
mod nvim;
mod quiet;
mod trail;
mod user;
mod words;
mod world;

use std::io::Write as _;

use dice::Dice;
use trail::Trail;
use world::World;

/// The same worlds for everybody: a change that breaks one is to blame for it. New ones are looked for with other seeds.
const SEED: u64 = 20_261_121;
const STEPS: usize = 10_000;
const STEPS_OF_A_WORLD: usize = 250;
/// So many worlds at once.
const ABREAST: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("RAT_SEED").unwrap_or(SEED);
    let steps = number("RAT_STEPS").map_or(STEPS, |steps| usize::try_from(steps).unwrap());
    // Not captured, so that it can be read while the test runs and when it hangs.
    writeln!(std::io::stderr(), "RAT_SEED={seed} RAT_STEPS={steps}").unwrap();
    let mut dice = Dice::new(seed);
    // The first is the seed itself, so that a world can be played alone.
    let worlds = std::iter::once(seed).chain(std::iter::repeat_with(|| dice.next()));
    let worlds: Vec<u64> = worlds.take(steps.div_ceil(STEPS_OF_A_WORLD)).collect();
    for abreast in worlds.chunks(ABREAST) {
        let worlds: Vec<_> = abreast.iter().map(|&seed| tokio::spawn(world(seed))).collect();
        for world in worlds {
            if let Err(why) = world.await.unwrap() {
                panic!("{why}");
            }
        }
    }
}

/// Plays one world.
async fn world(seed: u64) -> Result<(), String> {
    let trail = Trail::default();
    let played = tokio::spawn(play(seed, trail.clone())).await;
    let why = match played {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(panic) => panic.to_string(),
    };
    let again = format!("RAT_SEED={seed} RAT_STEPS={STEPS_OF_A_WORLD} plays this world again");
    Err(format!("\n{}{why}\n{again}", trail.lines()))
}

async fn play(seed: u64, trail: Trail) -> Result<(), String> {
    let mut world = World::new(&format!("random-{seed}"), seed, trail.clone()).await;
    for number in 1..=STEPS_OF_A_WORLD {
        trail.step(number);
        world.step().await?;
    }
    world.quiet().await
}
