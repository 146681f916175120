import Testing
import WireProtocol

@testable import Coordinators

/// A worker that misbehaves describes itself with any numbers; consoles and commands add them up.
@Suite("The numbers of a worker's description") struct SnapshotNumbersTests {
    /// A number of a description, by its name.
    private typealias Named = (name: String, number: Int64)

    /// The numbers that nothing adds up: they aren't changed, or refused.
    private static let exact: Set = ["processID", "processStartTime", "incarnation", "handled"]

    /// A description with each number that there is.
    private static let description: SelfDescription = {
        var child = CoordinatorSnapshot(
            path: .root.appending("a"),
            type: "T",
            state: .active,
            host: .worker,
            processID: 7,
            processStartTime: 8,
            incarnation: 3
        )
        (child.restarts, child.forcedKills, child.restartAttempt) = (4, 5, 6)
        (child.nextStart, child.stopping, child.stopTimeout) = (.seconds(1), .seconds(2), .seconds(3))
        (child.uptime, child.executorSilence) = (.seconds(4), .seconds(5))
        var mailbox = CoordinatorSnapshot.Mailbox(waiting: 1, running: 2, oldestWaiting: .seconds(6), handled: 9, stuck: 3)
        mailbox.places = [.init(.member, key: "1", waiting: 1, oldestWaiting: .seconds(6))]
        child.mailbox = mailbox
        var flows = CoordinatorSnapshot.Flows(open: 1, unwinding: 2, parked: 3, due: 4)
        (flows.oldestDue, flows.outboxAge, flows.commitP99) = (.seconds(7), .seconds(8), .microseconds(9))
        child.flows = flows
        child.health = .init(isHealthy: false, failures: 2)
        return SelfDescription(mailbox: mailbox, flows: flows, children: [child])
    }()

    @Test("What a process tells is read back as it is")
    func same() throws {
        let read = try SelfDescription(reading: try Self.description.encodedAsJSON())
        #expect(read.children == Self.description.children && read.mailbox == Self.description.mailbox)
        #expect(read.flows == Self.description.flows)
    }

    @Test("Each number that is beyond all bounds is read as one that can be added up", arguments: [Int64.max, .min, -1])
    func bounds(_ extreme: Int64) throws {
        let variants = Self.variants(of: try Self.description.encodedAsJSON(), "", extreme)
        // Those of the description itself, of the child, and of both mailboxes, their places and flows.
        #expect(variants.count == 40)
        for variant in variants {
            guard let read = try? SelfDescription(reading: variant.json) else {
                #expect(Self.exact.contains(variant.name))
                continue
            }
            for (name, number) in Self.numbers(in: try read.encodedAsJSON(), "") where !Self.exact.contains(name) {
                // A count beside thousands of millions of others; a time beside the present one.
                let most = name.hasSuffix("seconds") ? Int64.max / 1_000 : Int64(Int32.max)
                #expect((0...most).contains(number), "\(variant.name): \(name)")
            }
        }
    }

    /// Returns a value once for each of its numbers, with another number in that one's place.
    private static func variants(of json: JSONValue, _ name: String, _ number: Int64) -> [(name: String, json: JSONValue)] {
        switch json {
        case .integer: return [(name, .integer(number))]
        case .null, .bool, .number, .string: return []
        case .array(let elements):
            return elements.indices.flatMap { index in
                variants(of: elements[index], name, number).map { variant in
                    var changed = elements
                    changed[index] = variant.json
                    return (name: variant.name, json: .array(changed))
                }
            }
        case .object(let members):
            return members.flatMap { key, member in
                variants(of: member, key, number).map { variant in
                    var changed = members
                    changed[key] = variant.json
                    return (name: variant.name, json: .object(changed))
                }
            }
        }
    }

    private static func numbers(in json: JSONValue, _ name: String) -> [Named] {
        switch json {
        case .integer(let number): [(name, number)]
        case .null, .bool, .number, .string: []
        case .array(let elements): elements.flatMap { numbers(in: $0, name) }
        case .object(let members): members.flatMap { numbers(in: $1, $0) }
        }
    }
}
