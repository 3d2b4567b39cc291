//! Circles in the graph of locks: an edge leads from a lock that was held to one that was acquired then.

use blame::{Allowance, Exhausted};
use std::collections::{HashMap, VecDeque};

/// An edge: the lock that was held, and the one that was acquired, by their slots.
pub type Edge = (u32, u32);

/// Locks of one circle at most: a longer one explains nothing.
const LONGEST: usize = 64;

/// Returns the shortest circle through each edge that is on one, the shortest of all first; and whether all edges were
/// searched from. A step is an edge that is looked at.
pub fn shortest(edges: &[Edge], allowance: &Allowance) -> (Vec<Vec<Edge>>, Result<(), Exhausted>) {
    let after = by_held(edges);
    let mut all: Vec<Vec<Edge>> = Vec::new();
    let mut search = || {
        for edge in edges {
            let way = way(&after, edge.1, edge.0, allowance)?;
            all.extend(way.map(|way| [vec![*edge], way].concat()));
        }
        Ok(())
    };
    let end = search();
    all.sort_by_key(Vec::len);
    (all, end)
}

fn by_held(edges: &[Edge]) -> HashMap<u32, Vec<Edge>> {
    let mut after: HashMap<u32, Vec<Edge>> = HashMap::new();
    edges.iter().for_each(|edge| after.entry(edge.0).or_default().push(*edge));
    after
}

/// Returns the edges that are on a circle: those within a strongly connected component (Tarjan, "Depth-first search and
/// linear graph algorithms", SIAM J. Comput. 1972), without recursion.
pub fn on_circles(edges: &[Edge]) -> Vec<Edge> {
    let component = components(edges);
    edges.iter().filter(|edge| component[&edge.0] == component[&edge.1]).copied().collect()
}

/// Returns the number of each lock's component.
pub fn components(edges: &[Edge]) -> HashMap<u32, usize> {
    let after = by_held(edges);
    let (mut component, mut low): (HashMap<u32, usize>, HashMap<u32, usize>) = Default::default();
    let (mut open, mut number) = (Vec::new(), 0);
    for root in edges.iter().flat_map(|edge| [edge.0, edge.1]) {
        // Each lock on the path, its number, and how many of its edges were followed.
        let mut path: Vec<(u32, usize, usize)> = Vec::new();
        let mut next = (!low.contains_key(&root)).then_some(root);
        // It ends: each lock is entered once, and each of its edges is followed once.
        loop {
            if let Some(lock) = next.take() {
                number += 1;
                low.insert(lock, number);
                open.push(lock);
                path.push((lock, number, 0));
            }
            let Some((lock, own, followed)) = path.last_mut() else { break };
            let (lock, own) = (*lock, *own);
            if let Some((_, to)) = after.get(&lock).and_then(|edges| edges.get(*followed)) {
                *followed += 1;
                match low.get(to) {
                    None => next = Some(*to),
                    Some(theirs) if !component.contains_key(to) => {
                        let least = low[&lock].min(*theirs);
                        low.insert(lock, least);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let least = low[&lock];
            if let Some((before, ..)) = path.last() {
                let least = low[before].min(least);
                low.insert(*before, least);
            }
            if least == own {
                let first = open.iter().rposition(|other| *other == lock).unwrap_or(open.len());
                component.extend(open.drain(first..).map(|member| (member, own)));
            }
        }
    }
    component
}

/// Returns the shortest way from one lock to another, unless it is longer than [`LONGEST`].
fn way(
    after: &HashMap<u32, Vec<Edge>>,
    from: u32,
    to: u32,
    allowance: &Allowance,
) -> Result<Option<Vec<Edge>>, Exhausted> {
    if from == to {
        return Ok(Some(Vec::new()));
    }
    let (mut came_by, mut open) = (HashMap::<u32, Edge>::new(), VecDeque::from([(from, 1)]));
    while let Some((here, length)) = open.pop_front() {
        for edge in after.get(&here).into_iter().flatten().filter(|_| length < LONGEST) {
            allowance.spend(1)?;
            if edge.1 == from || came_by.contains_key(&edge.1) {
                continue;
            }
            came_by.insert(edge.1, *edge);
            if edge.1 == to {
                let mut way = vec![*edge];
                // It ends: each lock was reached from one that was reached before.
                while let Some(before) = came_by.get(&way[way.len() - 1].0) {
                    way.push(*before);
                }
                way.reverse();
                return Ok(Some(way));
            }
            open.push_back((edge.1, length + 1));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: u64 = 10_000_000;

    fn locks(edges: &[Edge]) -> Vec<Vec<u32>> {
        let (circles, end) = shortest(&on_circles(edges), &Allowance::of_steps(STEPS));
        assert_eq!(end, Ok(()));
        circles.iter().map(|circle| circle.iter().map(|edge| edge.0).collect()).collect()
    }

    #[test]
    fn one_order_has_no_circle_and_two_have_one() {
        let nested: Vec<Edge> = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken))).collect();
        assert_eq!(locks(&nested), Vec::<Vec<u32>>::new());
        assert_eq!(locks(&[(1, 2), (2, 3), (2, 1)]), [[1, 2], [2, 1]]);
    }

    #[test]
    fn a_circle_of_three_is_found_from_each_of_its_edges() {
        assert_eq!(locks(&[(1, 2), (2, 3), (3, 1), (3, 4)]), [[1, 2, 3], [2, 3, 1], [3, 1, 2]]);
    }

    #[test]
    fn circles_of_a_dense_graph_take_a_step_for_each_edge_of_a_lock() {
        const LOCKS: u32 = 100;
        let dense: Vec<Edge> =
            (0..LOCKS).flat_map(|held| (0..LOCKS).map(move |taken| (held, taken))).filter(|(a, b)| a != b).collect();
        let allowance = Allowance::of_steps(STEPS);
        let (circles, end) = shortest(&on_circles(&dense), &allowance);
        assert_eq!((circles.len(), end), (dense.len(), Ok(())));
        assert!(circles.iter().all(|circle| circle.len() == 2));
        assert!(allowance.spent() <= u64::from(LOCKS) * dense.len() as u64, "{}", allowance.spent());
    }

    #[test]
    fn components_are_those_of_locks_that_reach_each_other() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let locks = random.u32(2..9);
            let edges: Vec<Edge> = (0..random.u32(1..20)).map(|_| (random.u32(..locks), random.u32(..locks))).collect();
            let mut reach = vec![vec![false; locks as usize]; locks as usize];
            for _ in 0..locks {
                for &(from, to) in &edges {
                    reach[from as usize][to as usize] = true;
                    let further = reach[to as usize].clone();
                    reach[from as usize].iter_mut().zip(further).for_each(|(reached, further)| *reached |= further);
                }
            }
            let expected: Vec<Edge> =
                edges.iter().filter(|(from, to)| from == to || reach[*to as usize][*from as usize]).copied().collect();
            assert_eq!(on_circles(&edges), expected, "{edges:?}");
        }
    }

    #[test]
    fn edges_to_a_circle_or_away_from_it_are_not_searched() {
        let found = on_circles(&[(1, 2), (2, 3), (3, 2), (3, 4), (4, 5), (7, 7)]);
        assert_eq!(found, [(2, 3), (3, 2), (7, 7)]);
    }

    /// A search from each edge through all of them would take some thousand million steps, and circles of all locks as
    /// many places in memory.
    #[test]
    fn tens_of_thousands_of_edges_have_their_short_circles_named() {
        const LOCKS: u32 = 30_000;
        let ring = (0..LOCKS).map(|lock| (lock, (lock + 1) % LOCKS));
        assert_eq!(locks(&ring.clone().collect::<Vec<_>>()), Vec::<Vec<u32>>::new());
        let found = locks(&[(7, 6)].into_iter().chain(ring).collect::<Vec<_>>());
        assert_eq!(found, [[7, 6], [6, 7]]);
    }
}
