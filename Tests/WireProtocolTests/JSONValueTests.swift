import Foundation
import Testing
import WireProtocol

@Suite("JSON value")
struct JSONValueTests {
    private let sample: JSONValue = [
        "null": nil, "bool": true, "integer": -5, "large": 9_007_199_254_740_993, "number": 2.5, "text": "grün",
        "list": [1, [], [:], "x", false], "object": ["deep": ["deeper": 0.1]],
    ]

    @Test("JSON's own coder reads and writes it")
    func json() throws {
        let text = #"{"a":[null,true,1,-2.5,"x",{"b":{}},18446744073709551615],"c":1e300}"#
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        #expect(value == ["a": [nil, true, 1, -2.5, "x", ["b": [:]], .number(18_446_744_073_709_551_616)], "c": 1e300])
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(sample)) == sample)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data("{".utf8)) }
    }

    @Test("The compact coder reads and writes it")
    func compact() throws {
        let bytes = try CompactEncoder().encode(sample)
        #expect(try CompactDecoder().decode(JSONValue.self, from: bytes) == sample)
        let large = try CompactEncoder().encode(UInt64.max)
        #expect(try CompactDecoder().decode(JSONValue.self, from: large) == .number(18_446_744_073_709_551_616))
        #expect(try CompactDecoder().decode(JSONValue.self, from: try CompactEncoder().encode([1, 2] as [UInt8])) == [1, 2])
    }

    @Test("A value carries a type's data from one coder to the other")
    func conversion() throws {
        let event = Zoo.Event.labelled(name: "n", at: Zoo.Point(x: 1, y: 2))
        let value = try CompactDecoder().decode(JSONValue.self, from: try CompactEncoder().encode(event))
        #expect(try JSONDecoder().decode(Zoo.Event.self, from: try JSONEncoder().encode(value)) == event)
    }

    @Test("Overlaying merges objects all the way down and replaces everything else")
    func overlay() {
        let defaults: JSONValue = [
            "host": "h", "port": 80, "tls": ["on": false, "list": [1, 2], "kept": ["x": 1, "y": 2]], "gone": ["x": 1],
        ]
        let other: JSONValue = ["port": 81, "tls": ["on": true, "list": [3], "kept": ["y": 3]], "gone": nil, "new": ["a": 1]]
        #expect(
            defaults.overlaid(by: other) == [
                "host": "h", "port": 81, "tls": ["on": true, "list": [3], "kept": ["x": 1, "y": 3]], "gone": nil,
                "new": ["a": 1],
            ]
        )
        #expect(defaults.overlaid(by: [:]) == defaults)
        #expect(defaults.overlaid(by: 5) == 5)
        #expect(JSONValue.null.overlaid(by: defaults) == defaults)
    }

    @Test("Members and elements are reached, changed, removed and added")
    func access() {
        var value = sample
        #expect(value["object"]?["deep"]?["deeper"]?.numberValue == 0.1)
        #expect(value["list"]?[3]?.stringValue == "x")
        #expect(value["list"]?[5] == nil)
        #expect(value["list"]?[-1] == nil)
        #expect(value["list"]?["x"] == nil)
        #expect(value["integer"]?.integerValue == -5)
        #expect(value["integer"]?.numberValue == -5)
        #expect(value["number"]?.integerValue == nil)
        #expect(value["bool"]?.boolValue == true)
        #expect(value["null"]?.isNull == true)
        value["object"]?["deep"]?["new"] = 1
        value["bool"] = nil
        #expect(value["object"]?.objectValue?["deep"] == ["deeper": 0.1, "new": 1])
        #expect(value.objectValue?.keys.contains("bool") == false)
        #expect(value["list"]?.arrayValue?.count == 5)
    }

    @Test("A case of an enumeration that is overlaid by another case is replaced")
    func cases() {
        let base: JSONValue = ["shutdown": ["timeout": ["_0": 5]], "name": "a", "nested": ["x": 1, "y": 2]]
        let overlay: JSONValue = ["shutdown": ["infinity": [:]], "nested": ["y": 3]]
        let expected: JSONValue = ["shutdown": ["infinity": [:]], "name": "a", "nested": ["x": 1, "y": 3]]
        #expect(base.overlaid(byCasesOf: overlay) == expected)
        #expect(base.overlaid(by: overlay) != expected)
    }
}
