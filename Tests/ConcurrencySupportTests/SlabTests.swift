import ConcurrencySupport
import Testing

@Suite("Elements under numbers that are never used twice")
struct SlabTests {
    @Test("A place is used again, a number isn't")
    func numbers() {
        var slab = Slab<String>()
        let first = slab.insert("a")
        let removed = slab.remove(first)
        #expect(removed == "a")
        let second = slab.insert("b")
        #expect(first != second)
        #expect(slab[first] == nil && slab[second] == "b")
        let again = slab.remove(first)
        #expect(again == nil && slab.count == 1)
        // A number that was given up changes nothing.
        slab[first] = "c"
        slab[second] = "d"
        #expect(Array(slab.elements) == ["d"])
    }

    @Test("Strange numbers have no element")
    func strangers() {
        var slab = Slab<Int>()
        for number in 0..<10 { _ = slab.insert(number) }
        for number: UInt64 in [0, 1, 12, .max, 1 << 32, 1 << 32 | 2, UInt64(UInt32.max)] {
            #expect(!slab.contains(number) && slab[number] == nil)
            let removed = slab.remove(number)
            #expect(removed == nil)
        }
        let all = slab.removeAll()
        #expect(all == Array(0..<10))
        #expect(slab.count == 0)
    }
}
