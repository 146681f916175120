/// A value of XML-RPC, https://xmlrpc.com/spec.md; dates and bytes aren't used by supervisord's methods.
package enum XMLRPCValue: Hashable, Sendable {
    case integer(Int)
    case boolean(Bool)
    case double(Double)
    case string(String)
    case array([XMLRPCValue])
    case structure([String: XMLRPCValue])

    var integerValue: Int? { if case .integer(let value) = self { value } else { nil } }
    var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    var arrayValue: [XMLRPCValue]? { if case .array(let value) = self { value } else { nil } }

    subscript(name: String) -> XMLRPCValue? { if case .structure(let members) = self { members[name] } else { nil } }

    /// The whole answer of a method that has returned the value.
    package var response: String {
        var text = "<?xml version='1.0'?>\n<methodResponse>\n<params>\n<param>\n"
        write(to: &text)
        text += "</param>\n</params>\n</methodResponse>\n"
        return text
    }

    fileprivate func write(to text: inout String) {
        text += "<value>"
        switch self {
        // The type has 32 bits.
        case .integer(let value): text += "<int>\(min(max(value, Int(Int32.min)), Int(Int32.max)))</int>"
        case .boolean(let value): text += "<boolean>\(value ? 1 : 0)</boolean>"
        case .double(let value): text += "<double>\(value)</double>"
        case .string(let value):
            text += "<string>"
            Self.escape(value, to: &text)
            text += "</string>"
        case .array(let values):
            text += "<array><data>\n"
            for value in values { value.write(to: &text) }
            text += "</data></array>"
        case .structure(let members):
            text += "<struct>\n"
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                text += "<member><name>"
                Self.escape(name, to: &text)
                text += "</name>"
                value.write(to: &text)
                text += "</member>\n"
            }
            text += "</struct>"
        }
        text += "</value>\n"
    }

    /// Appends a text with references for what is markup; what XML can't have at all becomes the replacement character.
    private static func escape(_ value: String, to text: inout String) {
        for character in value.unicodeScalars {
            switch character {
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "&": text += "&amp;"
            // A reader would make it a line feed.
            case "\r": text += "&#13;"
            case "\t", "\n": text.unicodeScalars.append(character)
            case "\0"..." ", "\u{FFFE}"..."\u{FFFF}": text.unicodeScalars.append(character == " " ? character : "\u{FFFD}")
            default: text.unicodeScalars.append(character)
            }
        }
    }
}

/// The failure of a method, with the number that supervisord gives it.
///
/// The numbers are those of `supervisor.xmlrpc.Faults`: http://supervisord.org/api.html.
package struct XMLRPCFault: Error, Hashable {
    /// The kinds of failures.
    package enum Code: Int {
        case unknownMethod = 1
        case incorrectParameters = 2
        case badArguments = 3
        /// The daemon ends, or can't be reached.
        case shutdownState = 6
        case badName = 10
        case badSignal = 11
        case noFile = 20
        case failed = 30
        case abnormalTermination = 40
        case spawnError = 50
        case alreadyStarted = 60
        case notRunning = 70
        /// The number of a success in a list of results.
        case success = 80
        case alreadyAdded = 90
        case stillRunning = 91
        /// The configuration file has a problem.
        case cantReread = 92

        /// The name that supervisord puts before a fault's text.
        var name: String {
            switch self {
            case .unknownMethod: "UNKNOWN_METHOD"
            case .incorrectParameters: "INCORRECT_PARAMETERS"
            case .badArguments: "BAD_ARGUMENTS"
            case .shutdownState: "SHUTDOWN_STATE"
            case .badName: "BAD_NAME"
            case .badSignal: "BAD_SIGNAL"
            case .noFile: "NO_FILE"
            case .failed: "FAILED"
            case .abnormalTermination: "ABNORMAL_TERMINATION"
            case .spawnError: "SPAWN_ERROR"
            case .alreadyStarted: "ALREADY_STARTED"
            case .notRunning: "NOT_RUNNING"
            case .success: "SUCCESS"
            case .alreadyAdded: "ALREADY_ADDED"
            case .stillRunning: "STILL_RUNNING"
            case .cantReread: "CANT_REREAD"
            }
        }
    }

    package let code: Code
    let text: String

    init(_ code: Code, _ detail: String? = nil) {
        self.code = code
        text = detail.map { "\(code.name): \($0)" } ?? code.name
    }

    /// The value of the fault, as an answer or among the results of several calls.
    var value: XMLRPCValue { .structure(["faultCode": .integer(code.rawValue), "faultString": .string(text)]) }

    /// The whole answer of a method that has failed.
    package var response: String {
        var text = "<?xml version='1.0'?>\n<methodResponse>\n<fault>\n"
        value.write(to: &text)
        text += "</fault>\n</methodResponse>\n"
        return text
    }
}
