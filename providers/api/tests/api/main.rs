//! The kinds, their schemas and rules, as a user meets them.

#[cfg(test)]
mod admission;
mod cidr;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod images;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod seeds;
