#if Macros
import Diamond
import DiamondModel

/// The classes written by the macro.
enum OrdersByMacro {
    @Modeled nonisolated class Document: Model {
        @Server var id = 0
        var title = ""
        var author = Author()
    }

    @Modeled nonisolated final class Order: Document {
        var address = Address()
        var shop = Author()
        @Nullable var gift: Gift?
        @Nullable var voucher: Gift?
        @Nullable var previous: Order?
        let lines = ModelCollection<Line>()

        override class var resource: Request? { Request("notes") }
    }

    @Modeled nonisolated final class Author: Model {
        var name = ""
        var home = Address()
    }

    @Modeled nonisolated final class Address: Model {
        @Rule(.nonEmpty) var city = "?"
        var zip = 0
    }

    @Modeled nonisolated final class Gift: Model {
        var name = ""
    }

    @Modeled nonisolated final class Line: Model {
        var name = ""
        @Rule(.range(0...)) var count = 0
        var origin = Address()
    }
}

extension OrdersByMacro.Order: NestedOrder {
    func change(_ part: OrderPart, to name: String) {
        switch part {
        case .inherited: title = name
        case .model: address.city = name
        case .replacedModel:
            let other = OrdersByMacro.Address()
            other.city = name
            address = other
        case .deepModel: shop.home.city = name
        case .inheritedDeepModel: author.home.city = name
        case .optional: gift?.name = name
        case .removedOptional: gift = nil
        case .newOptional:
            let other = OrdersByMacro.Gift()
            other.name = name
            voucher = other
        case .recursive: previous?.title = name
        case .member: lines.allModels.last?.count = name.utf8.count
        case .deepMember: lines.allModels.last?.origin.city = name
        case .newMember: try? lines.set(lines.allModels + [Self.newLine(name)])
        case .removedMember: lines.allModels.first.map { _ = lines.remove($0) }
        case .movedMembers: try? lines.set(lines.allModels.reversed())
        case .severalMembers: try? lines.set(lines.allModels.dropFirst() + [name, name].map(Self.newLine))
        }
    }

    private static func newLine(_ name: String) -> OrdersByMacro.Line {
        let line = OrdersByMacro.Line()
        line.name = name
        return line
    }

    var parts: [Model] { [author, address, shop] + [gift, voucher].compactMap { $0 } + lines.allModels }
}
#endif
