//! The pure core: everything that happens is an [`event::Event`], everything we do is an [`effect::Effect`],
//! only `State` decides. No clock, no disk, no lock in here.

pub mod effect;
pub mod event;
