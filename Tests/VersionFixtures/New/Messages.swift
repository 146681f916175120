import Coordinators
import Fixtures

enum Cart {
    struct Add: ResponderMessage {
        typealias Reply = Receipt
        typealias Failure = OneOf<Full, Closed>
        static let formerNames = ["Cart.AddItem"]
        var sku: String
        var count = 1
        var gift: String?
    }

    struct Receipt: Codable {
        var text: String
        var currency: String?
    }

    struct Full: ResponderError, Hashable {
        static let formerNames = ["Cart.IsFull"]
        var limit: Int
        var hint: String?
    }

    /// Unknown to the former build.
    struct Closed: ResponderError, Hashable { var until: String }

    struct Pay: ResponderMessage {
        typealias Reply = String
        /// The former build doesn't know the last one.
        enum Method: String, Codable { case cash, card, voucher }
        var method: Method
    }

    struct Watch: ResponderMessage {
        typealias Reply = String
        static let formerNames = ["Cart.Follow"]
    }

    struct Note: ResponderMessage {
        static let formerNames = ["Cart.Remark"]
        var text: String
    }

    struct Count: ResponderMessage {
        typealias Reply = Int
        static let formerNames = ["Basket.Size"]
    }
}

extension Cart.Add {
    /// The former build sends no count.
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        sku = try fields.decode(String.self, forKey: .sku)
        count = try fields.decodeIfPresent(Int.self, forKey: .count) ?? 1
        gift = try fields.decodeIfPresent(String.self, forKey: .gift)
    }
}

extension Asker {
    /// Asks every message that this build knows.
    func askAll() async -> [String: String] {
        [
            "add": await outcome {
                let receipt = try await ask(Cart.Add(sku: "tea", count: 2, gift: "bow"))
                return "\(receipt.text), currency \(receipt.currency ?? "none")"
            },
            "full": await outcome { try await ask(Cart.Add(sku: "full")).text },
            "closed": await outcome { try await ask(Cart.Add(sku: "closed")).text },
            "pay": await outcome { try await ask(Cart.Pay(method: .cash)) },
            "voucher": await outcome { try await ask(Cart.Pay(method: .voucher)) },
            "watch": await outcome { try await replies(to: Cart.Watch()).joined(separator: " ") },
            "note": await outcome { "\(try await isNoted(Cart.Note(text: "hello")))" },
            "count": await outcome { "\(try await ask(Cart.Count()))" },
        ]
    }
}
