import CoordinatorsCluster
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
}
