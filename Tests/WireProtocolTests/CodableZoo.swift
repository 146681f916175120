/// Types that encode themselves in every way that Codable allows.
enum Zoo {
    struct Point: Codable, Hashable { var x: Int, y: Int }

    struct Empty: Codable, Hashable {}

    struct Numbers: Codable, Hashable {
        var a: Int8 = .min, b: Int16 = .min, c: Int32 = .min, d: Int64 = .min, e: Int = .min
        var f: UInt8 = .max, g: UInt16 = .max, h: UInt32 = .max, i: UInt64 = .max, j: UInt = .max
        var k: Int128 = .min, l: UInt128 = .max, m: Float = -.leastNonzeroMagnitude, n: Double = .greatestFiniteMagnitude, o = true
    }

    struct Optionals: Codable, Hashable {
        var a: Int?
        var b: String?
        var c: Int??
        var d: [Int?]
        var e: Point?
        var f: [Point?]?
        var g: [String: Int?]
    }

    enum Color: String, Codable, Hashable, CaseIterable { case red, green, blue }
    enum Level: Int, Codable, Hashable { case low = -1, high = 1000 }

    enum Event: Codable, Hashable {
        case plain
        case one(Int)
        case labelled(name: String, at: Point?)
        case nested(Color, [Event])
    }

    indirect enum Tree: Codable, Hashable {
        case leaf(Int)
        case branch(Tree, Tree)
    }

    final class Node: Codable, Equatable {
        var value: Int
        var next: Node?

        init(_ value: Int, _ next: Node? = nil) {
            self.value = value
            self.next = next
        }

        static func chain(_ count: Int) -> Node {
            var node = Node(0)
            for value in 1..<count { node = Node(value, node) }
            return node
        }

        static func == (left: Node, right: Node) -> Bool { left.value == right.value && left.next == right.next }
    }

    struct Renamed: Codable, Hashable {
        var identifier: Int
        var displayName: String
        var note = "transient"

        enum CodingKeys: String, CodingKey { case identifier = "id", displayName = "a rather long name, with ümläuts" }
    }

    /// Has a default for a field that its synthesised `encode(to:)` writes always.
    struct Defaulted: Codable, Hashable {
        var host = "localhost"
        var port = 80

        init(host: String = "localhost", port: Int = 80) { (self.host, self.port) = (host, port) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            port = try container.decodeIfPresent(Int.self, forKey: .port) ?? 80
            host = try container.decodeIfPresent(String.self, forKey: .host) ?? "localhost"
        }
    }

    /// Reads its fields in another order than it writes them, which are of one type.
    struct Reordered: Codable, Hashable {
        var user: String, password: String

        enum CodingKeys: CodingKey { case user, password }

        init(user: String, password: String) { (self.user, self.password) = (user, password) }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            password = try container.decode(String.self, forKey: .password)
            user = try container.decode(String.self, forKey: .user)
        }
    }

    /// Fills two nested containers by turns, and leaves an entry out.
    struct Manual: Codable, Hashable {
        var a: [Int], b: [String: Int]

        enum CodingKeys: CodingKey { case list, table, absent, null }
        enum Inner: CodingKey { case list, deeper }

        init(a: [Int], b: [String: Int]) { (self.a, self.b) = (a, b) }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            var table = container.nestedContainer(keyedBy: Inner.self, forKey: .table)
            var deeper = table.nestedUnkeyedContainer(forKey: .deeper)
            try container.encodeNil(forKey: .null)
            for number in a {
                try list.encode(number)
                try deeper.encode("\(number)")
            }
            var pair = list.nestedUnkeyedContainer()
            try table.encode(b, forKey: .list)
            try pair.encode(true)
            try pair.encodeNil()
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let table = try container.nestedContainer(keyedBy: Inner.self, forKey: .table)
            b = try table.decode([String: Int].self, forKey: .list)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            var deeper = try table.nestedUnkeyedContainer(forKey: .deeper)
            a = []
            while !deeper.isAtEnd {
                let number = try list.decode(Int.self)
                guard try deeper.decode(String.self) == "\(number)" else { throw Wrong() }
                a.append(number)
            }
            var pair = try list.nestedUnkeyedContainer()
            guard try pair.decode(Bool.self), try pair.decodeNil(), pair.isAtEnd, pair.count == 2 else { throw Wrong() }
            guard list.isAtEnd, list.count == a.count + 1 else { throw Wrong() }
            guard !container.contains(.absent), try container.decodeNil(forKey: .null) else { throw Wrong() }
            guard Set(container.allKeys) == [.list, .null, .table] else { throw Wrong() }
        }
    }

    class Animal: Codable {
        var name: String

        init(name: String) { self.name = name }
    }

    /// Shares its superclass's encoder, and reads in another order than it writes.
    final class Dog: Animal {
        var age: Int

        enum CodingKeys: CodingKey { case age }

        init(name: String, age: Int) {
            self.age = age
            super.init(name: name)
        }

        required init(from decoder: any Decoder) throws {
            age = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .age)
            try super.init(from: decoder)
        }

        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(age, forKey: .age)
        }
    }

    /// Gives its superclass an encoder of its own.
    final class Cat: Animal {
        var lives: Int

        enum CodingKeys: CodingKey { case lives, parent }

        init(name: String, lives: Int) {
            self.lives = lives
            super.init(name: name)
        }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            lives = try container.decode(Int.self, forKey: .lives)
            guard try Animal(from: try container.superDecoder(forKey: .parent)).name == "parent" else { throw Wrong() }
            try super.init(from: try container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(lives, forKey: .lives)
            try Animal(name: "parent").encode(to: container.superEncoder(forKey: .parent))
        }
    }

    /// Looks at a discriminator before it knows what to read.
    enum Shape: Codable, Hashable {
        case circle(radius: Double)
        case square(side: Double)

        private struct Circle: Codable { var kind = "circle", radius: Double }
        private struct Square: Codable { var side: Double, kind = "square" }
        private enum Discriminator: CodingKey { case kind }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .circle(let radius): try Circle(radius: radius).encode(to: encoder)
            case .square(let side): try Square(side: side).encode(to: encoder)
            }
        }

        init(from decoder: any Decoder) throws {
            switch try decoder.container(keyedBy: Discriminator.self).decode(String.self, forKey: .kind) {
            case "circle": self = .circle(radius: try Circle(from: decoder).radius)
            default: self = .square(side: try Square(from: decoder).side)
            }
        }
    }

    /// Tries one type after the other.
    enum Either: Codable, Hashable {
        case number(Int), text(String), list([Either])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let value): try container.encode(value)
            case .text(let value): try container.encode(value)
            case .list(let value): try container.encode(value)
            }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode([Either].self) {
                self = .list(value)
            } else if let value = try? container.decode(Int.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    struct Wrong: Error {}
}
