import ConcurrencySupport
import Glibc
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Dependencies: what a coordinator is provided with")
struct DependenciesTests {
    // MARK: Names

    @Test("The names of the keys behind a property are found")
    func names() {
        #expect(Dependencies.names(of: \.tea) == [DependencyKeys().tea.name])
        // A property may be made of several.
        let several = Dependencies.names(of: \.teaWithMilk)
        #expect(several == [DependencyKeys().tea.name, DependencyKeys().milk.name])
        let needs = MessageRow.Needs(\.teaWithMilk)
        var dependencies = Dependencies()
        dependencies.tea = "green"
        #expect(needs.standing(in: dependencies) == .absent)
        dependencies.milk = 3
        #expect(needs.standing(in: dependencies) == .unread)
        needs.learn(from: dependencies)
        #expect(needs.standing(in: dependencies) == .provided)
        #expect(MessageRow.Needs().standing(in: Dependencies()) == .provided)
    }

    @Test("Looking for names creates no service")
    func namesMakeNothing() {
        #expect(Dependencies.names(of: \.untouched) == [DependencyKeys().untouched.name])
        #expect(UntouchedKey.made.all.isEmpty)
    }

    // MARK: Values

    @Test("A provided value is available until it's withdrawn")
    func values() {
        var dependencies = Dependencies()
        #expect(dependencies.tea == nil)
        dependencies.tea = "green"
        #expect(dependencies.tea == "green")
        dependencies.tea = nil
        #expect(dependencies.tea == nil)
        #expect(dependencies.entries.isEmpty)
    }

    @Test("Overriding values take precedence, and the others stay")
    func overlay() {
        var base = Dependencies()
        base.tea = "green"
        base.milk = 1
        var others = Dependencies()
        others.tea = "black"
        let result = base.overlaid(by: others)
        #expect(result.tea == "black")
        #expect(result.milk == 1)
        #expect(base.tea == "green")
    }

    @Test("A coordinator's own values take precedence over inherited ones, and a test's over all")
    func node() {
        var inherited = Dependencies()
        inherited.tea = "inherited"
        inherited.milk = 1
        var own = Dependencies()
        own.tea = "own"
        var override = Dependencies()
        override.milk = 9
        var node = CellDependencies(inherited: inherited, overrides: override, isBehindBorder: false)
        #expect(node.effective.tea == "inherited")
        node.provide(own)
        #expect(node.effective.tea == "own")
        inherited.tea = "newer"
        inherited.milk = 2
        let isPassedOn = node.inherit(inherited)
        #expect(isPassedOn)
        #expect(node.effective.tea == "own")
        #expect(node.effective.milk == 9)
    }

    // MARK: Made from a description

    @Test("A described service is made once for all that inherit it, and only when it's needed")
    func madeOnce() async throws {
        var dependencies = Dependencies()
        dependencies.describe(\.pot, by: "once")
        #expect(PotKey.made.all.count { $0 == "once" } == 0)
        // Others come and go over it; the entry is the same.
        var others = Dependencies()
        others.tea = "green"
        let (early, later) = (dependencies, dependencies.overlaid(by: others))
        let pots = await withTaskGroup(of: Pot?.self) { group in
            for number in 0..<100 { group.addTask { number % 2 == 0 ? early.pot : later.pot } }
            return await group.reduce(into: [Pot?]()) { $0.append($1) }
        }
        let first = try #require(pots.first ?? nil)
        #expect(pots.allSatisfy { $0 === first })
        // Several may have made one at the same time; from then on none is made any more.
        let made = PotKey.made.all.count { $0 == "once" }
        #expect(made >= 1)
        #expect(early.pot === first)
        #expect(later.pot === first)
        #expect(PotKey.made.all.count { $0 == "once" } == made)
    }

    @Test("Dependencies: a service that reads itself while it's made gets nothing, and is made")
    func readsItself() {
        var dependencies = Dependencies()
        dependencies.describe(\.kettle, by: "copper")
        KettleKey.surroundings.withLock { $0 = dependencies }
        let kettle = dependencies.kettle
        #expect(kettle == "copper without another kettle")
        #expect(dependencies.kettle == kettle)
    }

    @Test("Dependencies: two services that read each other while they're made on two threads are both made")
    func readEachOther() async {
        var dependencies = Dependencies()
        dependencies.describe(\.left, by: "left")
        dependencies.describe(\.right, by: "right")
        CrossKeys.surroundings.withLock { $0 = dependencies }
        async let left = CrossKeys.onThread { CrossKeys.surroundings.withLock { $0 }.left }
        async let right = CrossKeys.onThread { CrossKeys.surroundings.withLock { $0 }.right }
        #expect(await left?.hasPrefix("left") == true)
        #expect(await right?.hasPrefix("right") == true)
    }

    @Test("A service that is described again is made again")
    func describedAnew() {
        var dependencies = Dependencies()
        dependencies.describe(\.pot, by: "old")
        #expect(dependencies.pot?.content == "old")
        dependencies.describe(\.pot, by: "new")
        #expect(dependencies.pot?.content == "new")
    }

    @Test("A make that fails is reported, and tried again the next time")
    func failing() {
        var dependencies = Dependencies()
        dependencies.describe(\.leak, by: "leaks")
        #expect(dependencies.leak == nil)
        let error = #expect(throws: Leak.self) { try dependencies.required(\.leak) }
        #expect(error == Leak(from: "leaks"))
        #expect(LeakKey.tries.all.count == 2)
    }

    @Test("A missing dependency is named")
    func missing() throws {
        let error = try #require(throws: CoordinatorError.self) { try Dependencies().required(\.tea) }
        #expect(error.code == .unsupported)
        #expect(error.message.contains(DependencyKeys().tea.name))
    }

    // MARK: Crossing

    @Test("A value crosses, and is the same on the other side", arguments: [PayloadCodec.json, .compact])
    func valueCrosses(_ codec: PayloadCodec) throws {
        let entry = DependencyEntry(DependencyKeys().tea, "green")
        let (own, bytes) = try #require(try entry.encoded(as: codec))
        #expect(own == codec)
        let arrived = DependencyEntry(own, bytes)
        #expect(arrived.isEncoded(own, bytes))
        #expect(!arrived.isEncoded(own, bytes + Bytes([0])))
        #expect(!entry.isEncoded(own, bytes))
        #expect(try arrived.value(for: DependencyKeys().tea) == "green")
        // Further down it goes as it came.
        let (onward, same) = try #require(try arrived.encoded(as: codec == .json ? .compact : .json))
        #expect(onward == codec)
        #expect(same == bytes)
    }

    @Test("A description crosses, and each side makes its own service from it once", arguments: [PayloadCodec.json, .compact])
    func descriptionCrosses(_ codec: PayloadCodec) throws {
        let descriptor = "crossing \(codec.rawValue)"
        let entry = DependencyEntry(describedBy: descriptor)
        let here = try entry.value(for: DependencyKeys().pot)
        let (own, bytes) = try #require(try entry.encoded(as: codec))
        let arrived = DependencyEntry(own, bytes)
        let there = try arrived.value(for: DependencyKeys().pot)
        let again = try arrived.value(for: DependencyKeys().pot)
        #expect(there.content == descriptor)
        #expect(there === again)
        #expect(there !== here)
        #expect(PotKey.made.all.count { $0 == descriptor } == 2)
    }

    @Test("A live service stays in its process")
    func liveStays() throws {
        let crosses = try DependencyEntry(DependencyKeys().cup, Cup()).encoded(as: .json) != nil
        #expect(!crosses)
        // Its description would cross; the live one that stands in for it doesn't.
        let describedCrosses = try DependencyEntry(DependencyKeys().pot, Pot("live")).encoded(as: .json) != nil
        #expect(!describedCrosses)
    }

    @Test("A value of another type than the key's is an error, not a trap")
    func mismatch() {
        let wrongDescriptor = DependencyEntry(describedBy: 7)
        let first = #expect(throws: CoordinatorError.self) { try wrongDescriptor.value(for: DependencyKeys().pot) }
        #expect(first?.code == .coding)
        let notCodable = DependencyEntry(PayloadCodec.json, [0x31])
        let second = #expect(throws: CoordinatorError.self) { try notCodable.value(for: DependencyKeys().cup) }
        #expect(second?.code == .coding)
        let garbled = DependencyEntry(PayloadCodec.json, [0x7B])
        let third = #expect(throws: CoordinatorError.self) { try garbled.value(for: DependencyKeys().tea) }
        #expect(third?.code == .coding)
    }
}

/// Not Codable.
private final class Cup: Sendable {}

private final class Pot: Sendable {
    let content: String
    init(_ content: String) { self.content = content }
}

private enum PotKey {
    /// The descriptions that pots were made from.
    static let made = Collected<String>()
}

/// Its making looks whether there is one already.
private enum KettleKey {
    static let surroundings = Lock(Dependencies())

    static func make(from descriptor: String) throws -> String {
        let other = surroundings.withLock { $0 }.kettle
        return "\(descriptor) \(other.map { "beside \($0)" } ?? "without another kettle")"
    }
}

/// Each needs the other, after both have begun.
private enum CrossKeys {
    static let surroundings = Lock(Dependencies())
    static let begun = Atomic<Int>(0)
    static let bothHaveBegun = ThreadGate()

    static func waitForBoth() {
        if begun.add(1, ordering: .relaxed).newValue == 2 { bothHaveBegun.open() }
        bothHaveBegun.pass()
    }

    static func onThread(_ body: @escaping @Sendable () -> String?) async -> String? {
        await withCheckedContinuation { continuation in
            #expect(DetachedThread.run { continuation.resume(returning: body()) })
        }
    }
}

private enum LeftKey {
    static func make(from descriptor: String) throws -> String {
        CrossKeys.waitForBoth()
        return descriptor + (CrossKeys.surroundings.withLock { $0 }.right ?? "")
    }
}

private enum RightKey {
    static func make(from descriptor: String) throws -> String {
        CrossKeys.waitForBoth()
        return descriptor + (CrossKeys.surroundings.withLock { $0 }.left ?? "")
    }
}

private enum UntouchedKey {
    static let made = Collected<String>()
}

private struct Leak: Error, Equatable {
    let from: String
}

private enum LeakKey {
    static let tries = Collected<String>()

    static func make(from descriptor: String) throws -> Pot {
        tries.append(descriptor)
        throw Leak(from: descriptor)
    }
}

extension DependencyKeys {
    fileprivate var tea: DependencyKey<String> { .init() }
    fileprivate var milk: DependencyKey<Int> { .init() }
    fileprivate var cup: DependencyKey<Cup> { .init() }
    fileprivate var pot: DescribedDependencyKey<Pot, String> {
        .init { descriptor in
            PotKey.made.append(descriptor)
            return Pot(descriptor)
        }
    }
    fileprivate var kettle: DescribedDependencyKey<String, String> { .init { try KettleKey.make(from: $0) } }
    fileprivate var left: DescribedDependencyKey<String, String> { .init { try LeftKey.make(from: $0) } }
    fileprivate var right: DescribedDependencyKey<String, String> { .init { try RightKey.make(from: $0) } }
    fileprivate var untouched: DescribedDependencyKey<Pot, String> {
        .init { descriptor in
            UntouchedKey.made.append(descriptor)
            return Pot(descriptor)
        }
    }
    fileprivate var leak: DescribedDependencyKey<Pot, String> { .init { try LeakKey.make(from: $0) } }
}

extension Dependencies {
    fileprivate var teaWithMilk: String? {
        let (tea, milk) = (self.tea, self.milk)
        guard let tea, let milk else { return nil }
        return "\(tea) with \(milk)"
    }
}
