import Testing

@testable import Coordinators

/// The look-ups that each message makes.
@Suite("Look-ups on a message's way")
struct TypeMapTests {
    private struct Wrapped<Value> {}

    /// Types as many as wanted: each is the former one, wrapped.
    private func types(_ count: Int) -> [ObjectIdentifier] {
        var types: [ObjectIdentifier] = []
        func add<Value>(_ type: Value.Type) {
            guard types.count < count else { return }
            types.append(ObjectIdentifier(type))
            add(Wrapped<Value>.self)
        }
        add(Int.self)
        return types
    }

    @Test("Each type is found among any number of others, and no other type", arguments: [0, 1, 2, 3, 7, 8, 9, 40])
    func typeMap(_ count: Int) {
        let all = types(2 * count + 1)
        let map = TypeMap(Dictionary(uniqueKeysWithValues: all.prefix(count).enumerated().map { ($1, $0) }))
        for (number, type) in all.enumerated() {
            #expect(map.index(of: type).map { map.values[$0] } == (number < count ? number : nil))
        }
    }

    @Test("Values by name are changed, removed and made anew like a dictionary's, in any order")
    func recentlyUsed() {
        var random = SystemRandomNumberGenerator()
        var values = RecentlyUsed<Int>()
        var expected: [String: Int] = [:]
        for step in 0..<5_000 {
            let name = "name \(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let sum = values.with(name, default: 100) { value in
                    value += step
                    return value
                }
                expected[name, default: 100] += step
                #expect(sum == expected[name])
            case 2:
                values.change(name) { $0 = step }
                if expected[name] != nil { expected[name] = step }
            case 3:
                values.remove(name)
                expected[name] = nil
            default:
                values.forEach { $0 += 1 }
                expected = expected.mapValues { $0 + 1 }
            }
            let other = "name \(step % 6)"
            #expect(values[other] == expected[other])
            #expect(Set(values.names) == Set(expected.keys))
        }
    }
}
