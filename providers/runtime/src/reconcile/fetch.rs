//! Fetching what a composer looked up and the cache doesn't have.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt, stream};
use serde_json::Value;

use super::{AT_ONCE, Controller};
use crate::cache::{Responses, Wanted};

impl Controller {
    /// Fetches what was missing. Returns what could not be fetched, with the reason.
    pub(super) async fn fetch(
        &self,
        wanted: BTreeSet<Wanted>,
        responses: &mut Responses,
    ) -> Vec<(Wanted, String)> {
        let is_external = |wanted: &Wanted| matches!(wanted, Wanted::External(_));
        let (external, objects): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_external);
        let fetch = |wanted: Vec<Wanted>| {
            let fetches: Vec<_> = wanted.into_iter().map(|one| self.fetch_one(one)).collect();
            stream::iter(fetches).buffered(AT_ONCE).collect::<Vec<_>>()
        };
        let mut fetched = fetch(objects).await;
        if !external.is_empty() {
            fetched.extend(self.external(fetch(external)).await);
        }
        let mut failed = Vec::new();
        for (wanted, fetched) in fetched {
            match (wanted, fetched) {
                (Wanted::External(request), Ok(Some(response))) => {
                    responses.insert(request, response);
                }
                (wanted, Err(why)) => failed.push((wanted, why)),
                (_, Ok(_)) => {}
            }
        }
        failed
    }

    /// Fetches one thing. Returns the response where it is that of an external system; objects are in the cache.
    async fn fetch_one(&self, wanted: Wanted) -> (Wanted, Result<Option<Arc<Value>>, String>) {
        let fetched = match &wanted {
            Wanted::Object(key) => match self.api.get(key).await {
                Ok(Some(object)) => {
                    self.cache.fetched(key, object);
                    Ok(None)
                }
                Ok(None) => Err(format!("{key} has just gone")),
                Err(error) => Err(format!("{key} can't be read: {}", error.shown(key.kind))),
            },
            Wanted::External(query) => {
                let response = self.external.observe(query).await;
                response.map(Some).map_err(|error| error.to_string())
            }
        };
        (wanted, fetched)
    }
}
