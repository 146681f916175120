import Supervision
import Testing

@Suite("The places of elements by their names")
struct PlaceIndexTests {
    private struct Element: Named {
        let name: String
    }

    /// An array in which the last element takes the place of one that is removed, and its index.
    private struct Table {
        var elements: [Element] = []
        var places = PlaceIndex<Element>()

        mutating func insert(_ name: String) {
            elements.append(Element(name: name))
            places.insert(elements.count - 1, of: elements)
        }

        mutating func remove(_ name: String) -> Bool {
            guard let place = places.remove(name, in: elements) else { return false }
            if let last = elements.last, place < elements.count - 1 { places.move(last.name, to: place, in: elements) }
            elements.swapAt(place, elements.count - 1)
            elements.removeLast()
            return true
        }

        func contains(_ name: String) -> Bool { places.place(of: name, in: elements).map { elements[$0].name == name } ?? false }
    }

    @Test("It has what a set has after any insertions and removals", arguments: [3, 40, 5_000] as [Int])
    func sameAsSet(_ names: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var (table, model) = (Table(), Set<String>())
        for step in 0..<20_000 {
            let name = "\(Int.random(in: 0..<names, using: &random))"
            // Nearly full and nearly empty by turns.
            if Int.random(in: 0..<10, using: &random) < (step / 4_000 % 2 == 0 ? 7 : 3) {
                if model.insert(name).inserted { table.insert(name) }
            } else {
                let (isRemoved, was) = (table.remove(name), model.remove(name) != nil)
                #expect(isRemoved == was, "seed \(seed), step \(step)")
            }
            #expect(table.places.count == model.count)
            let other = "\(Int.random(in: 0..<names, using: &random))"
            try #require(table.contains(other) == model.contains(other), "\(other) after step \(step) of seed \(seed)")
        }
        for name in (0..<names).map(String.init) { #expect(table.contains(name) == model.contains(name), "seed \(seed)") }
    }

    @Test("Places beyond the number of names are found, as in an array with gaps")
    func gaps() {
        let elements = (0..<1_000).map { Element(name: "\($0)") }
        var places = PlaceIndex<Element>()
        for place in stride(from: 999, through: 0, by: -37) { places.insert(place, of: elements) }
        for place in elements.indices {
            #expect(places.place(of: "\(place)", in: elements) == ((999 - place) % 37 == 0 ? place : nil))
        }
        #expect(places.place(of: "", in: elements) == nil)
    }

    @Test("Elements that have moved together are found at their new places", arguments: [20, 1_000, 40_000], [2, 100] as [Int])
    func moved(_ count: Int, _ everyOneOf: Int) {
        var elements = (0..<count).map { Element(name: "\($0)") }
        var places = PlaceIndex<Element>()
        for place in elements.indices { places.insert(place, of: elements) }
        let isKept = { (place: Int) in place % everyOneOf == 1 }
        for place in elements.indices where !isKept(place) { places.remove("\(place)", in: elements) }
        var moved = [Int32](repeating: -1, count: count)
        for (new, old) in elements.indices.filter(isKept).enumerated() { moved[old] = Int32(new) }
        elements = elements.indices.filter(isKept).map { elements[$0] }
        places.renumber(moved, to: elements.count)
        #expect(places.count == elements.count)
        for place in 0..<count { #expect(places.place(of: "\(place)", in: elements).map(Int32.init) ?? -1 == moved[place]) }
        elements.append(Element(name: "new"))
        places.insert(elements.count - 1, of: elements)
        #expect(places.place(of: "new", in: elements) == elements.count - 1)
    }
}
