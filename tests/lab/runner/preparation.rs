//! Building what scenarios and labs need.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use anyhow::{Result, anyhow};

use super::queue::lock;
use crate::cache::{cache, remove_unused};
use crate::image::remove_unused_images;
use crate::say::say;
use crate::suite::{Need, download_modules};

/// How many modules' tools are built at once. Large packages, and linking, leave all processors but one to the other.
const BUILDS: usize = 2;

/// Builds what is needed, several things at once, and removes what wasn't used for long.
pub(crate) fn prepare(needs: impl IntoIterator<Item = Need>) -> Result<()> {
    let mut distinct: Vec<Need> = Vec::new();
    for need in needs {
        if !distinct.contains(&need) {
            distinct.push(need);
        }
    }
    let (modules, others) = by_module(distinct);
    let download = || {
        download_modules()?;
        others.into_iter().try_for_each(Need::prepare)
    };
    compile_beside(&Mutex::new(modules), download, Need::prepare)?;
    // What is needed has today's date by now. No scenario fails because something is left.
    let removed = cache()
        .and_then(|cache| remove_unused(&cache))
        .and_then(|_| remove_unused_images());
    if let Err(error) = removed {
        say(format_args!("old tools or images are left: {error:#}"));
    }
    Ok(())
}

/// Tools by the module that pins them, in the order of their first ones, and all else.
fn by_module(needs: Vec<Need>) -> (VecDeque<Vec<Need>>, Vec<Need>) {
    let mut modules: Vec<(&str, Vec<Need>)> = Vec::new();
    let mut others = Vec::new();
    for need in needs {
        let Some(folder) = need.folder() else {
            others.push(need);
            continue;
        };
        match modules.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, tools)) => tools.push(need),
            None => modules.push((folder, vec![need])),
        }
    }
    let tools = modules.into_iter().map(|(_, tools)| tools).collect();
    (tools, others)
}

/// Builds tools while something else is done. If that fails, no further module's tools are built.
fn compile_beside<T: Send>(
    modules: &Mutex<VecDeque<Vec<T>>>,
    other: impl FnOnce() -> Result<()> + Send,
    build: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let done = other();
            if done.is_err() {
                lock(modules).clear();
            }
            done
        });
        let compiled = compile(modules, build);
        let done = other
            .join()
            .map_err(|_| anyhow!("the preparation of images panicked"))?;
        compiled.and(done)
    })
}

/// Builds the tools of each module one after the other, as they share packages, and those of two modules at once.
fn compile<T: Send>(
    modules: &Mutex<VecDeque<Vec<T>>>,
    build: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let first = lock(modules)
        .front_mut()
        .filter(|tools| !tools.is_empty())
        .map(|tools| tools.remove(0));
    // Alone, with Go's own library: two builds that begin at the same time would both compile it.
    if let Some(first) = first {
        build(first)?;
    }
    let next = || lock(modules).pop_front();
    let work = || -> Result<()> {
        while let Some(tools) = next() {
            let built = tools.into_iter().try_for_each(&build);
            if built.is_err() {
                lock(modules).clear();
                return built;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..BUILDS).map(|_| scope.spawn(work)).collect();
        let mut outcome = Ok(());
        for lane in lanes {
            let built = lane
                .join()
                .unwrap_or_else(|_| Err(anyhow!("a build of tools panicked")));
            outcome = outcome.and(built);
        }
        outcome
    })
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use anyhow::{bail, ensure};

    use super::*;
    use crate::tools::Tool;

    #[test]
    fn tools_of_a_module_are_built_together() {
        let (modules, others) = by_module(vec![
            Need::Tool(Tool::Etcd),
            Need::Python("keystone"),
            Need::Tool(Tool::Helm),
            Need::Tool(Tool::KubeApiserver),
        ]);
        let kubernetes = vec![Need::Tool(Tool::Etcd), Need::Tool(Tool::KubeApiserver)];
        assert_eq!(modules, [kubernetes, vec![Need::Tool(Tool::Helm)]]);
        assert_eq!(others, [Need::Python("keystone")]);
    }

    #[test]
    fn first_tool_is_built_before_all_others_and_each_module_in_order() -> Result<()> {
        let built = Mutex::new(Vec::new());
        let modules = VecDeque::from([vec![1, 2, 3], vec![11, 12], vec![21]]);
        compile(&Mutex::new(modules), |tool| {
            lock(&built).push(tool);
            Ok(())
        })?;
        let built = lock(&built);
        let of_module = |tools: Range<i32>| -> Vec<i32> {
            let of_module = built.iter().filter(|tool| tools.contains(*tool));
            of_module.copied().collect()
        };
        assert_eq!(built.first(), Some(&1));
        assert_eq!(of_module(0..10), [1, 2, 3]);
        assert_eq!(of_module(10..20), [11, 12]);
        assert_eq!(of_module(20..30), [21]);
        Ok(())
    }

    #[test]
    fn build_that_fails_fails_the_preparation() {
        let modules = VecDeque::from([vec![1], vec![2], vec![3]]);
        let outcome = compile(&Mutex::new(modules), |tool| {
            ensure!(tool != 2, "the build of {tool} fails");
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().to_string(), "the build of 2 fails");
    }

    #[test]
    fn download_that_fails_ends_the_builds() {
        let built = Mutex::new(Vec::new());
        let modules = Mutex::new(VecDeque::from([vec![1], vec![2], vec![3]]));
        let download = || -> Result<()> { bail!("the download fails") };
        let outcome = compile_beside(&modules, download, |tool| {
            lock(&built).push(tool);
            // It takes longer than the download.
            while !lock(&modules).is_empty() {
                thread::yield_now();
            }
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().to_string(), "the download fails");
        let built = lock(&built);
        assert!(built.is_empty() || *built == [1], "{built:?}");
    }
}
