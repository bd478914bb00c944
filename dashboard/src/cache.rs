//! Pages that were drawn a moment ago, so that loading one again and again costs the API server little.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

/// How long a page is used again. For so long, a viewer still sees what he may not list any more.
const FRESH: Duration = Duration::from_secs(5);

/// How many pages are kept.
const PAGES: usize = 64;

/// A page's viewer and URL.
pub type Key = (Vec<u8>, String);

/// The pages of the last moments, each of one viewer.
pub struct Cache<T>(Mutex<BTreeMap<Key, Entry<T>>>);

struct Entry<T> {
    since: Instant,
    page: Arc<OnceCell<T>>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Cache<T> {
    /// The page, drawn if it isn't fresh. Who asks meanwhile waits for it, and draws no other.
    pub async fn get(&self, key: Key, draw: impl Future<Output = T>) -> T {
        let page = self.page(key);
        page.get_or_init(|| draw).await.clone()
    }

    fn page(&self, key: Key) -> Arc<OnceCell<T>> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|_, entry| entry.since.elapsed() < FRESH);
        if let Some(entry) = pages.get(&key) {
            return Arc::clone(&entry.page);
        }
        if pages.len() >= PAGES {
            let oldest = pages.iter().min_by_key(|(_, entry)| entry.since);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| pages.remove(&key));
        }
        let page = Arc::default();
        let entry = Entry {
            since: Instant::now(),
            page: Arc::clone(&page),
        };
        pages.insert(key, entry);
        page
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(viewer: &str, url: &str) -> Key {
        (viewer.into(), url.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn page_is_drawn_once_for_a_moment_and_for_each_viewer() {
        let (cache, drawn) = (Cache::default(), AtomicUsize::new(0));
        let get = async |key: Key| {
            let draw = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                drawn.fetch_add(1, Ordering::Relaxed)
            };
            cache.get(key, draw).await
        };
        let (one, same) = tokio::join!(get(key("a", "/")), get(key("a", "/")));
        assert_eq!((one, same), (0, 0));
        assert_eq!(get(key("b", "/")).await, 1);
        assert_eq!(get(key("a", "/pools")).await, 2);
        tokio::time::advance(FRESH).await;
        assert_eq!(get(key("a", "/")).await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn few_pages_are_kept() {
        let cache = Cache::default();
        for page in 0..2 * PAGES {
            cache.get(key("a", &page.to_string()), async { page }).await;
        }
        assert_eq!(cache.0.lock().unwrap().len(), PAGES);
    }
}
