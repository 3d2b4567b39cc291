//! Locks that are taken in one order here and in another there: who is unlucky waits for ever.

use interpose::{Edge, Region};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

/// One lock was taken while another was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    pub held: u32,
    pub taken: u32,
    pub held_site: u64,
    pub taken_site: u64,
    pub thread: u32,
}

/// Circles that are named at most.
const MOST: usize = 100;

/// The orders that contradict each other: each circle of locks once, and as short as it can be.
pub fn inversions(region: &Region) -> Vec<Vec<Order>> {
    circles(&region.edges().filter_map(order).collect::<Vec<Order>>())
}

/// Two readers do not wait for each other.
fn order((key, edge): (u64, &Edge)) -> Option<Order> {
    let (held, taken) = Edge::places(key)?;
    let [held_site, taken_site] = [&edge.held_site, &edge.taken_site].map(|site| site.load(Relaxed));
    let (held, taken, thread) = (held as u32, taken as u32, edge.thread.load(Relaxed));
    (edge.readers.load(Relaxed) == 0).then_some(Order { held, taken, held_site, taken_site, thread })
}

fn circles(orders: &[Order]) -> Vec<Vec<Order>> {
    let mut after: HashMap<u32, Vec<&Order>> = HashMap::new();
    orders.iter().for_each(|order| after.entry(order.held).or_default().push(order));
    let with = |order: &Order| Some([vec![*order], way(&after, order.taken, order.held)?].concat());
    let mut all: Vec<Vec<Order>> = orders.iter().filter_map(with).collect();
    all.sort_by_key(Vec::len);
    let mut found: Vec<Vec<Order>> = Vec::new();
    for circle in all {
        // A longer way round by the same step against the order is the same mistake.
        let is_known = found.iter().flatten().any(|known| circle.contains(known));
        if !is_known && found.len() < MOST {
            found.push(circle);
        }
    }
    found
}

/// The shortest way from one lock to another.
fn way(after: &HashMap<u32, Vec<&Order>>, from: u32, to: u32) -> Option<Vec<Order>> {
    let (mut came_by, mut open) = (HashMap::<u32, &Order>::new(), VecDeque::from([from]));
    while let Some(here) = open.pop_front() {
        if here == to {
            let mut way = Vec::new();
            let mut at = to;
            while at != from {
                let order = came_by[&at];
                way.push(*order);
                at = order.held;
            }
            way.reverse();
            return Some(way);
        }
        for order in after.get(&here).into_iter().flatten() {
            if order.taken != from && !came_by.contains_key(&order.taken) {
                came_by.insert(order.taken, order);
                open.push_back(order.taken);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(pairs: &[(u32, u32)]) -> Vec<Order> {
        pairs.iter().map(|&(held, taken)| Order { held, taken, held_site: 0, taken_site: 0, thread: 0 }).collect()
    }

    fn locks(pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        circles(&orders(pairs)).iter().map(|circle| circle.iter().map(|order| order.held).collect()).collect()
    }

    #[test]
    fn one_order_has_no_circle_and_two_have_one() {
        let nested: Vec<(u32, u32)> = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken))).collect();
        assert_eq!(locks(&nested), Vec::<Vec<u32>>::new());
        assert_eq!(locks(&[(1, 2), (2, 3), (2, 1)]), [[1, 2]]);
    }

    #[test]
    fn one_step_against_an_order_of_many_is_one_mistake() {
        let nested = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken)));
        let found = locks(&nested.chain([(7, 3)]).collect::<Vec<_>>());
        assert_eq!(found, [[3, 7]]);
    }

    #[test]
    fn a_circle_of_three_is_found_once() {
        assert_eq!(locks(&[(1, 2), (2, 3), (3, 1), (3, 4)]), [[1, 2, 3]]);
    }
}
