import ConcurrencySupport
import Glibc

/// Type names without their module, computed once for each type.
enum TypeNames {
    private static let names = Lock<[ObjectIdentifier: String]>([:])

    static func name(of type: any Any.Type) -> String {
        let key = ObjectIdentifier(type)
        if let known = names.withLock({ $0[key] }) { return known }
        let full = withoutAddresses(String(reflecting: type))
        let name = full.firstIndex(of: ".").map { String(full[full.index(after: $0)...]) } ?? full
        names.withLock { $0[key] = name }
        return name
    }

    /// Swift names a private type by where its file's context lies in memory, which differs from process to process.
    ///
    /// Where it lies in its program is the same in all that run it, so that is what it's called by.
    private static func withoutAddresses(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "$")) else { return name }
        let opening = "(unknown context at $"
        var result = ""
        var rest = name[...]
        while let range = rest.firstRange(of: opening) {
            result += rest[..<range.lowerBound]
            rest = rest[range.upperBound...]
            let digits = rest.prefix { $0.isHexDigit }
            if let offset = UInt(digits, radix: 16).flatMap(offset), rest.dropFirst(digits.count).first == ")" {
                result += "(private \(String(offset, radix: 16)))"
                rest = rest.dropFirst(digits.count + 1)
            } else {
                result += opening
            }
        }
        return result + rest
    }

    /// Where something lies in the file of the program or library that it belongs to (proc_pid_maps(5)).
    private static func offset(of address: UInt) -> UInt? {
        guard let maps = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(maps) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, maps) >= 0, let text = line.map({ String(cString: $0) }) {
            // 55e6a1e2a000-55e6a1e2c000 r-xp 00002000 fd:01 1234 /usr/bin/shop
            let fields = text.split(separator: " ", maxSplits: 3)
            let bounds = fields.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
            guard bounds.count == 2, fields.count > 2, (bounds[0]..<bounds[1]).contains(address) else { continue }
            return UInt(fields[2], radix: 16).map { address - bounds[0] + $0 }
        }
        return nil
    }
}
