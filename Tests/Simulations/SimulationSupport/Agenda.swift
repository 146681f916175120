import Supervision

/// The items that are going to happen, soonest first; items of the same time keep the order in which they were added.
package struct Agenda<Item> {
    private struct Entry: Comparable {
        let time: Int
        let number: Int
        let item: Item

        static func == (left: Entry, right: Entry) -> Bool { left.number == right.number }

        static func < (left: Entry, right: Entry) -> Bool {
            left.time == right.time ? left.number < right.number : left.time < right.time
        }
    }

    private var heap = MinimumHeap<Entry>()
    private var count = 0

    package init() {}

    package mutating func add(_ item: Item, at time: Int) {
        count += 1
        heap.insert(Entry(time: time, number: count, item: item))
    }

    /// Takes the first item, if its time has come by then.
    package mutating func next(until end: Int = .max) -> (time: Int, item: Item)? {
        guard let first = heap.first, first.time <= end else { return nil }
        return heap.removeFirst().map { ($0.time, $0.item) }
    }
}
