//! The dependency graph of a control plane as a picture: what waits for what, and how far each part is.

mod dot;
mod layout;
mod svg;

/// A graph to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// What it is the graph of.
    pub title: String,
    /// The nodes, each after all that it needs.
    pub nodes: Vec<Node>,
}

/// A part, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is called, for instance `keystone`.
    pub name: String,
    /// What it is in words, for instance `Keystone keystone`.
    pub title: String,
    /// Its phase, from 1 on.
    pub phase: u8,
    /// How far it is.
    pub progress: Progress,
    /// The nodes that must be ready before it is created: positions of nodes before it.
    pub needs: Vec<usize>,
    /// The objects that it consists of, by kind and name. The first says how it is; a node without any says itself.
    pub objects: Vec<(&'static str, &'static str)>,
}

/// How far a part is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is there and serves.
    Ready,
    /// It is there and doesn't serve yet, for this reason.
    Coming(String),
    /// It isn't created yet.
    Held,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// For Graphviz.
    Dot,
    /// For a browser.
    Svg,
}

/// Draws graphs, one below the other.
pub fn draw(graphs: &[Graph], picture: Picture) -> String {
    match picture {
        Picture::Dot => dot::dot(graphs),
        Picture::Svg => svg::svg(graphs),
    }
}

impl Graph {
    /// How many parts are ready, and how many there are.
    pub fn ready(&self) -> (usize, usize) {
        let ready = self
            .nodes
            .iter()
            .filter(|node| node.progress == Progress::Ready);
        (ready.count(), self.nodes.len())
    }

    /// What a node still waits for.
    pub fn waits_for<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        let needs = node.needs.iter().filter_map(|need| self.nodes.get(*need));
        needs.filter(|need| need.progress != Progress::Ready)
    }

    /// How far a node is, in a few words.
    pub fn says(&self, node: &Node) -> String {
        match &node.progress {
            Progress::Ready => "ready".to_owned(),
            Progress::Coming(why) if why.is_empty() => "is being created".to_owned(),
            Progress::Coming(why) => why.clone(),
            Progress::Held => {
                let names: Vec<&str> = self
                    .waits_for(node)
                    .map(|need| need.name.as_str())
                    .collect();
                match names.as_slice() {
                    [] => "not created yet".to_owned(),
                    names => format!("waits for {}", names.join(", ")),
                }
            }
        }
    }

    /// Whether a node's need follows from its other needs.
    fn is_implied(&self, node: &Node, need: usize) -> bool {
        let mut others = node.needs.iter().filter(|other| **other != need);
        others.any(|other| self.reaches(*other, need))
    }

    /// Whether a node needs another, at whatever distance.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut needs = self
            .nodes
            .get(from)
            .into_iter()
            .flat_map(|node| &node.needs);
        needs.any(|need| *need == to || (*need < from && self.reaches(*need, to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, phase: u8, progress: Progress, needs: &[usize]) -> Node {
        Node {
            name: name.to_owned(),
            title: format!("{} {name}", name.to_uppercase()),
            phase,
            progress,
            needs: needs.to_vec(),
            objects: Vec::new(),
        }
    }

    /// A cache and a database, what needs both, and what needs that and, superfluously, the database.
    pub fn graph() -> Graph {
        Graph {
            title: "ControlPlane openstack/<production>".to_owned(),
            nodes: vec![
                node("database", 1, Progress::Ready, &[]),
                node(
                    "cache",
                    1,
                    Progress::Coming("1 of 3 \"pods\" are ready".to_owned()),
                    &[],
                ),
                node("bus", 1, Progress::Ready, &[]),
                node("identity", 2, Progress::Held, &[0, 1]),
                node("images", 4, Progress::Held, &[3, 0]),
                node("compute", 5, Progress::Held, &[3, 4, 2]),
            ],
        }
    }

    #[test]
    fn each_node_says_what_it_waits_for() {
        let graph = graph();
        let says: Vec<String> = graph.nodes.iter().map(|node| graph.says(node)).collect();
        assert_eq!(
            says,
            [
                "ready",
                "1 of 3 \"pods\" are ready",
                "ready",
                "waits for cache",
                "waits for identity",
                "waits for identity, images",
            ]
        );
        assert_eq!(graph.ready(), (2, 6));
        assert!(graph.is_implied(&graph.nodes[4], 0));
        assert!(!graph.is_implied(&graph.nodes[5], 2));
    }

    #[test]
    fn a_graph_is_drawn_for_graphviz_and_for_a_browser() {
        let graphs = [graph()];
        insta::assert_snapshot!("dot", draw(&graphs, Picture::Dot));
        insta::assert_snapshot!("svg", draw(&graphs, Picture::Svg));
    }

    #[test]
    fn several_graphs_are_one_picture() {
        let graphs = [graph(), graph()];
        let dot = draw(&graphs, Picture::Dot);
        assert_eq!(dot.matches("digraph").count(), 1);
        assert_eq!(dot.matches("subgraph").count(), 2);
        let svg = draw(&graphs, Picture::Svg);
        assert_eq!(svg.matches("<svg").count(), 1);
        assert_eq!(svg.matches("class=\"title\"").count(), 2);
        assert!(draw(&[], Picture::Svg).ends_with("</svg>\n"));
    }
}
