/// Reads the elements of an XML document one after the other: as much of XML as calls of methods need.
///
/// Attributes, comments and processing instructions are skipped. A declaration such as `<!DOCTYPE` is an error, and so no entity can be
/// defined: the five that XML has and the numbers of characters are all there are.
struct XMLReader {
    typealias Problem = XMLRPCCall.Problem

    private enum Token: Hashable {
        case open(String)
        case close(String)
        case text(String)
        case end
    }

    private let bytes: [UInt8]
    private var position = 0
    /// Tokens that were looked at, or that one tag stands for.
    private var pending: [Token] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes the beginning of an element.
    mutating func open(_ name: String) throws(Problem) {
        guard try opens(name) else { throw Problem(description: "expected <\(name)> at byte \(position)") }
    }

    /// Takes the beginning of an element, if it's there.
    mutating func opens(_ name: String) throws(Problem) -> Bool {
        let token = try nextTag()
        if token == .open(name) { return true }
        pending.insert(token, at: 0)
        return false
    }

    /// Whether a value begins here.
    mutating func startsValue() throws(Problem) -> Bool {
        let token = try nextTag()
        pending.insert(token, at: 0)
        return token == .open("value")
    }

    /// Takes the end of an element.
    mutating func close(_ name: String) throws(Problem) {
        guard try nextTag() == .close(name) else { throw Problem(description: "expected </\(name)> at byte \(position)") }
    }

    /// Takes the text up to the end of its element, and that end.
    mutating func text(until name: String) throws(Problem) -> String {
        var text = ""
        while true {
            switch try next() {
            case .text(let more): text += more
            case .close(name): return text
            default: throw Problem(description: "expected </\(name)> at byte \(position)")
            }
        }
    }

    /// Takes the beginning of the element within a value, which names the type; nil for a value that is a text.
    mutating func openedType() throws(Problem) -> String? {
        var skipped: [Token] = []
        while true {
            let token = try next()
            switch token {
            case .open(let name): return name
            case .text(let text) where text.allSatisfy(\.isWhitespace): skipped.append(token)
            default:
                pending = skipped + [token] + pending
                return nil
            }
        }
    }

    /// Returns the next token that isn't space.
    private mutating func nextTag() throws(Problem) -> Token {
        while true {
            let token = try next()
            guard case .text(let text) = token else { return token }
            guard text.allSatisfy(\.isWhitespace) else {
                throw Problem(description: "there is text between elements before byte \(position)")
            }
        }
    }

    private mutating func next() throws(Problem) -> Token {
        if !pending.isEmpty { return pending.removeFirst() }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else { return .text(try characters()) }
            if skip("<!--", through: "-->") || skip("<?", through: "?>") { continue }
            if starts(with: "<![CDATA[") { return .text(try unparsed()) }
            return try tag()
        }
        return .end
    }

    private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    /// Skips what begins and ends with texts; an end that is missing is that of the document.
    private mutating func skip(_ beginning: String, through end: String) -> Bool {
        guard starts(with: beginning) else { return false }
        position += beginning.utf8.count
        while position < bytes.count, !starts(with: end) { position += 1 }
        position = min(bytes.count, position + end.utf8.count)
        return true
    }

    private mutating func unparsed() throws(Problem) -> String {
        let start = position + 9
        guard skip("<![CDATA[", through: "]]>"), position - 3 >= start, bytes[position - 1] == UInt8(ascii: ">") else {
            throw Problem(description: "a CDATA section has no end")
        }
        return String(decoding: bytes[start..<position - 3], as: UTF8.self)
    }

    private mutating func tag() throws(Problem) -> Token {
        guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { throw Problem(description: "a tag has no end") }
        var content = bytes[position + 1..<end]
        position = end + 1
        let isClosing = content.first == UInt8(ascii: "/")
        if isClosing { content = content.dropFirst() }
        let isEmpty = content.last == UInt8(ascii: "/")
        if isEmpty { content = content.dropLast() }
        let name = String(decoding: content.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        guard !name.isEmpty, name.utf8.first != UInt8(ascii: "!"), !(isClosing && isEmpty) else {
            throw Problem(description: "`<\(String(decoding: content.prefix(40), as: UTF8.self))>` isn't a tag that is understood")
        }
        if isClosing { return .close(name) }
        if isEmpty { pending.append(.close(name)) }
        return .open(name)
    }

    private mutating func characters() throws(Problem) -> String {
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            guard bytes[position] == UInt8(ascii: "&") else {
                text.append(bytes[position])
                position += 1
                continue
            }
            guard let end = bytes[position...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                let character = Self.character(String(decoding: bytes[position + 1..<end], as: UTF8.self))
            else { throw Problem(description: "an entity at byte \(position) isn't known") }
            text += Array(String(character).utf8)
            position = end + 1
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func character(_ name: String) -> Character? {
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            return number.flatMap(Unicode.Scalar.init).map(Character.init)
        }
    }
}
