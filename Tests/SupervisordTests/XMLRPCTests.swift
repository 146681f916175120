import Control
import Testing

@testable import Supervisord

@Suite("XML-RPC, as clients of supervisord write and read it")
struct XMLRPCTests {
    private func call(_ xml: String) throws -> XMLRPCCall { try XMLRPCCall(xml: Array(xml.utf8)) }

    @Test("A call is read as Python's and others' libraries write it")
    func reading() throws {
        let python = """
            <?xml version='1.0'?>
            <methodCall>
            <methodName>supervisor.tailProcessLog</methodName>
            <params>
            <param>
            <value><string>a &lt;&amp;&#x41;&#66;</string></value>
            </param>
            <param><value><int>-1600</int></value></param><param><value><boolean>1</boolean></value></param>
            </params>
            </methodCall>

            """
        #expect(
            try call(python)
                == XMLRPCCall(method: "supervisor.tailProcessLog", parameters: [.string("a <&AB"), .integer(-1600), .boolean(true)])
        )
        #expect(try call("<methodCall><methodName>a</methodName></methodCall>") == XMLRPCCall(method: "a"))
        #expect(try call("<methodCall><methodName>a</methodName><params/></methodCall>") == XMLRPCCall(method: "a"))
        let untyped = "<!-- c --><methodCall ><methodName>a</methodName><params><param><value> b <![CDATA[<c>]]></value></param>"
        #expect(try call(untyped + "<param><value/></param></params></methodCall>").parameters == [.string(" b <c>"), .string("")])
        let nested = """
            <methodCall><methodName>system.multicall</methodName><params><param><value><array><data>
            <value><struct><member><name>methodName</name><value>b</value></member><member><name>params</name>
            <value><array><data><value><double>1.5</double></value></data></array></value></member></struct></value>
            </data></array></value></param></params></methodCall>
            """
        #expect(try call(nested).parameters == [.array([.structure(["methodName": .string("b"), "params": .array([.double(1.5)])])])])
    }

    @Test(
        "What isn't a call is told, and does no harm",
        arguments: [
            "", "words", "<methodCall>", "<methodCall><methodName>a</methodName>", "<methodCall><methodName>a</methodCall>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><methodCall><methodName>a</methodName></methodCall>",
            "<methodCall><methodName>&b;</methodName>",
            "<methodCall><methodName>a</methodName><params><param><value><int>x</int></value></param></params></methodCall>",
            "<methodCall><methodName>a</methodName><params><param><value><base64>x</base64></value></param></params></methodCall>",
            "<methodCall><methodName>a</methodName>b</methodCall>", "<methodCall><methodName><![CDATA[", "<!-->", "<?", "<", "</", "</>",
            "<//>",
            "<methodCall><methodName>a</methodName><params><param>"
                + String(repeating: "<value><array><data>", count: 5000),
        ]
    )
    func faults(_ xml: String) {
        #expect(throws: XMLRPCCall.Problem.self) { try call(xml) }
    }

    @Test("Every beginning of a call is refused, and every changed byte is read or refused")
    func mutations() throws {
        let whole = Array(
            "<methodCall><methodName>a</methodName><params><param><value><int>1</int></value></param></params></methodCall>".utf8
        )
        for count in whole.indices { #expect(throws: XMLRPCCall.Problem.self) { try XMLRPCCall(xml: Array(whole[..<count])) } }
        for index in whole.indices {
            for byte in Array("<>/&;![]-?\0 \u{FF}".utf8) {
                var changed = whole
                changed[index] = byte
                _ = try? XMLRPCCall(xml: changed)
            }
        }
    }

    @Test("An answer has no byte that XML can't have")
    func writing() {
        let value = XMLRPCValue.structure(["b": .string("<a>&\u{1}\r\n\t é"), "a": .array([.integer(1 << 40), .boolean(false)])])
        #expect(
            value.response == """
                <?xml version='1.0'?>
                <methodResponse>
                <params>
                <param>
                <value><struct>
                <member><name>a</name><value><array><data>
                <value><int>2147483647</int></value>
                <value><boolean>0</boolean></value>
                </data></array></value>
                </member>
                <member><name>b</name><value><string>&lt;a&gt;&amp;\u{FFFD}&#13;\n\t é</string></value>
                </member>
                </struct></value>
                </param>
                </params>
                </methodResponse>

                """
        )
        #expect(XMLRPCFault(.badName, "x").response.contains("<name>faultCode</name><value><int>10</int></value>"))
    }

    @Test("Durations are Python's")
    func durations() {
        #expect(SupervisedProcess.duration(65) == "0:01:05")
        #expect(SupervisedProcess.duration(86_400) == "1 day, 0:00:00")
        #expect(SupervisedProcess.duration(200_000) == "2 days, 7:33:20")
    }

    @Test("The exit status is the code, and of every signal -1")
    func exitStatus() {
        for (code, signal, status) in [(3, nil, 3), (nil, 9, -1), (nil, 15, -1), (nil, nil, 0)] as [(Int32?, Int32?, Int)] {
            var node = TreeNode(key: "a", path: "/a", type: "a", kind: .program, state: "inactive", placement: .program)
            (node.lastExitCode, node.lastExitSignal) = (code, signal)
            let information = SupervisedProcess(node, parent: "/").information(now: 0, last: nil)
            #expect(information["exitstatus"]?.integerValue == status)
        }
    }

    @Test("What has run until a changed group was stopped is known when the group is added, and forgotten with the next look at the file")
    func stoppedWithGroup() {
        let groups = RereadGroups()
        // Before any look at the file it's an operator's stop.
        groups.noteStop(of: "team", ["/team/a"])
        #expect(groups.remove("team") == nil)
        groups.remember(["team": .changed, "other": .removed])
        groups.noteStop(of: "team", ["/team/a", "/team/b"])
        groups.noteStop(of: "team", [])
        groups.noteStop(of: "none", ["/none"])
        #expect(groups.difference(of: "team") == .changed && groups.difference(of: "none") == nil)
        let team = groups.remove("team")
        #expect(team?.difference == .changed && team?.stopped == ["/team/a", "/team/b"])
        #expect(groups.remove("team") == nil && groups.remove("other")?.stopped == [])
        groups.remember(["team": .changed])
        groups.noteStop(of: "team", ["/team/a"])
        groups.remember(["team": .changed])
        #expect(groups.remove("team")?.stopped == [])
    }

    @Test("The end of a log is kept, and its length is known")
    func logText() {
        var text = ProcessLogText(keeping: 10)
        for number in 0..<10_000 { text.append(.init(time: "", path: "/a", line: "\(number % 10)")) }
        text.append(.init(time: "", path: "/a", line: "", gap: .init(reason: "lost")))
        #expect(text.count == 20_000)
        #expect(text.bytes(from: 19_990, atMost: 4) == "5\n6\n")
        #expect(text.bytes(from: 20_000, atMost: 4) == "")
    }
}
