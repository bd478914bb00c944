//! What every page has around its content.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

use crate::request::{Request, View};

/// How often a page is loaded again by itself, in seconds.
const REFRESH: u32 = 30;

/// Where the stylesheet is.
pub const STYLE: &str = "/style.css";

/// A page that isn't there, in words.
pub fn problem(title: &str, advice: &str) -> Markup {
    document(
        title,
        None,
        &html! { main { h1 { (title) } p { (advice) } } },
    )
}

/// A page with its navigation.
pub fn page(
    request: &Request,
    title: &str,
    server: &str,
    now: Timestamp,
    content: &Markup,
) -> Markup {
    let views = [
        ("Overview", View::Overview),
        ("Pools", View::Pools),
        ("Storage", View::Storage),
    ];
    let url = |request: &Request| request.url();
    let toggled = Request {
        refresh: !request.refresh,
        ..request.clone()
    };
    let body = html! {
        a.skip href="#content" { "Skip to the content" }
        header {
            p.brand { "c5c3" }
            nav aria-label="Pages" {
                ul {
                    @for (name, view) in views {
                        @let current = (view == request.view.section()).then_some("true");
                        li { a href=(url(&request.to(view))) aria-current=[current] { (name) } }
                    }
                }
            }
            form action=(request.view.path()) {
                label for="namespace" { "Namespace" }
                input id="namespace" name="namespace" maxlength="63" placeholder="all" autocomplete="off"
                    value=[request.namespace.as_deref()];
                @if !request.refresh { input type="hidden" name="refresh" value="off"; }
                button { "Show" }
            }
        }
        main id="content" { h1 { (title) } (content) }
        footer {
            p { (server) ", read at " time datetime=(now.to_string()) { (now.strftime("%Y-%m-%d %H:%M:%S UTC")) } "." }
            p {
                @if request.refresh { "This page is loaded again every " (REFRESH) " seconds. " } @else { "This page stays as it is. " }
                a href=(url(&toggled)) { @if request.refresh { "Stop that" } @else { "Load it again every " (REFRESH) " seconds" } }
            }
        }
    };
    let refresh = request.refresh.then_some(REFRESH);
    document(title, refresh, &body)
}

fn document(title: &str, refresh: Option<u32>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(seconds) = refresh { meta http-equiv="refresh" content=(seconds); }
                title { (title) " – c5c3" }
                link rel="stylesheet" href=(STYLE);
            }
            body { (body) }
        }
    }
}
