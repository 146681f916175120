/// What is going to happen, soonest first; what was noted first comes first at the same time: a binary heap.
package struct Agenda<Item> {
    private struct Entry {
        let time: Int
        let number: Int
        let item: Item

        static func < (left: Entry, right: Entry) -> Bool {
            left.time == right.time ? left.number < right.number : left.time < right.time
        }
    }

    private var heap: [Entry] = []
    private var count = 0

    package init() {}

    package mutating func add(_ item: Item, at time: Int) {
        count += 1
        heap.append(Entry(time: time, number: count, item: item))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the first, if its time has come by then.
    package mutating func next(until end: Int = .max) -> (time: Int, item: Item)? {
        guard let first = heap.first, first.time <= end else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            let left = 2 * parent + 1
            if left < heap.count, heap[left] < heap[smallest] { smallest = left }
            if left + 1 < heap.count, heap[left + 1] < heap[smallest] { smallest = left + 1 }
            if smallest == parent { return (first.time, first.item) }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
