import Supervision

/// What is going to happen, soonest first; what was noted first comes first at the same time.
struct Agenda<Item> {
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

    mutating func add(_ item: Item, at time: Int) {
        count += 1
        heap.insert(Entry(time: time, number: count, item: item))
    }

    mutating func next() -> (time: Int, item: Item)? {
        heap.removeFirst().map { ($0.time, $0.item) }
    }
}
