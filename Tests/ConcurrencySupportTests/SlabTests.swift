import ConcurrencySupport
import Testing

@Suite("Elements under numbers that are never used twice")
struct SlabTests {
    @Test("A place is used again, a number isn't")
    func numbers() {
        var slab = Slab<String>()
        let first = slab.insert("a")
        #expect(slab.remove(first) == "a")
        let second = slab.insert("b")
        #expect(first != second)
        #expect(slab[first] == nil && slab[second] == "b")
        #expect(slab.remove(first) == nil && slab.count == 1)
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
            #expect(slab.remove(number) == nil)
        }
        #expect(slab.removeAll() == Array(0..<10))
        #expect(slab.count == 0)
    }
}
