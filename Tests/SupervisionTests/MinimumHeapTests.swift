import Supervision
import TestSupport
import Testing

@Suite struct MinimumHeapTests {
    @Test func elementsComeOutInOrder() {
        var generator = SeededGenerator()
        for count in 0..<200 {
            let elements = (0..<count).map { _ in Int.random(in: 0..<50, using: &generator) }
            var heap = MinimumHeap<Int>()
            for element in elements { heap.insert(element) }
            #expect(heap.count == count)
            #expect(drained(&heap) == elements.sorted())
            #expect(heap.first == nil && heap.count == 0)
        }
    }

    @Test func orderHoldsAfterSomeAreTakenOut() {
        var generator = SeededGenerator()
        for count in 0..<200 {
            let elements = (0..<count).map { _ in Int.random(in: 0..<50, using: &generator) }
            var heap = MinimumHeap<Int>()
            for element in elements { heap.insert(element) }
            heap.removeAll { $0.isMultiple(of: 3) }
            #expect(drained(&heap) == elements.filter { !$0.isMultiple(of: 3) }.sorted())
        }
    }

    @Test func leastIsAtHandWhileElementsComeAndGo() {
        var generator = SeededGenerator()
        var heap = MinimumHeap<Int>()
        var model: [Int] = []
        for _ in 0..<5_000 {
            if Bool.random(using: &generator) {
                let element = Int.random(in: 0..<1_000, using: &generator)
                heap.insert(element)
                model.append(element)
            } else {
                let least = model.min()
                #expect(heap.first == least)
                #expect(heap.removeFirst() == least)
                if let index = model.firstIndex(where: { $0 == least }) { model.remove(at: index) }
            }
        }
    }

    private func drained(_ heap: inout MinimumHeap<Int>) -> [Int] {
        var elements: [Int] = []
        while let element = heap.removeFirst() { elements.append(element) }
        return elements
    }
}
