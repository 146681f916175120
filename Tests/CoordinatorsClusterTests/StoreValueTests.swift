import CoordinatorsCluster
import FoundationEssentials
import Ownership
import Testing

/// Keys and records as texts.
@Suite struct StoreValueTests {
    @Test func aKeyIsReadFromItsText() throws {
        let keys: [String: StoreKey] = [
            "nodes/alpha-1": .node(try #require(NodeName("alpha-1"))), "desired/a": .desired("/a"), "assign/a/b": .assignment("/a/b"),
            "owners/shop/catalog": .owner("/shop/catalog"), "leader": .leader, "checkpoint/a b": .checkpoint("/a b"),
        ]
        for (text, key) in keys {
            #expect(key.description == text)
            #expect(StoreKey(text) == key)
        }
        for text in ["", "nodes", "nodes/", "nodes/a/b", "nodes/ä", "leader/", "leader/a", "others/a", "/owners/a"] {
            #expect(StoreKey(text) == nil, "\(text)")
        }
    }

    @Test func aRecordIsReadFromItsJSON() throws {
        let node = try NodeRecord.test("alpha")
        #expect(NodeRecord(json: node.json) == node)
        #expect(OwnerRecord(json: node.owner.json) == node.owner)
        #expect(
            String(decoding: node.owner.json, as: UTF8.self) == #"{"address":"tls+tcp://alpha:7000","incarnation":0,"node":"alpha"}"#
        )
        for text in ["", "{}", "null", #"{"address":"","incarnation":0,"node":"-"}"#] {
            #expect(OwnerRecord(json: Array(text.utf8)) == nil)
            #expect(NodeRecord(json: Array(text.utf8)) == nil)
        }
    }
    /// What a version reads that knows of no stops on all nodes, and of no reasons of failures.
    private struct Former: Decodable {
        struct Failure: Decodable {
            let node: String
            let lease: Int64
        }

        let labels: [String: String]?
        let weight: Int?
        let pin: String?
        let failures: [Failure]?
        let isGivenUp: Bool?
    }

    /// Both ways: members that a version doesn't know are skipped, and those that it expects may be missing.
    @Test func versionsReadOneAnothersValues() throws {
        let pin = try #require(NodeName("b"))
        var wish = PlacementConstraints(labels: ["disk": "ssd"], pin: pin)
        let former = #"{"labels":{"disk":"ssd"},"moves":3,"pin":"b","weight":1}"#
        #expect(String(decoding: wish.json, as: UTF8.self) == former, "a subtree that isn't stopped is written as ever")
        #expect(PlacementConstraints(json: Array(former.utf8)) == wish)
        wish.isStopped = true
        #expect(PlacementConstraints(json: wish.json) == wish)
        let read = try JSONDecoder().decode(Former.self, from: Data(wish.json))
        #expect(read.labels == wish.labels && read.weight == 1 && read.pin == "b")

        let failed = #"{"failures":[{"lease":7,"node":"a"}],"isGivenUp":false}"#
        var assignment = try #require(SubtreeAssignment(json: Array(failed.utf8)))
        #expect(assignment.failures.map(\.reason) == [nil] && String(decoding: assignment.json, as: UTF8.self) == failed)
        assignment.failures[0].reason = "exited with code 3"
        #expect(SubtreeAssignment(json: assignment.json) == assignment)
        let known = try JSONDecoder().decode(Former.self, from: Data(assignment.json))
        #expect(known.failures?.map(\.node) == ["a"] && known.failures?.map(\.lease) == [7] && known.isGivenUp == false)
    }
}
