import Diamond
import DiamondModel
import Foundation
import Testing

/// Properties of Foundation's types and of types with raw values, without codecs and conformances.
@Suite("Properties of Foundation's types and of types with raw values") struct PlainValueTests {
    private static let whole: JSONValue = [
        "at": "2024-05-31T12:00:00.250Z", "price": 12.5, "token": "01234567-89ab-cdef-0123-456789abcdef",
        "page": "https://example.com/a", "size": "large", "level": 2, "sizes": ["small", "large"],
        "levels": ["a": 1], "flags": 3, "other": "small", "others": ["large"], "closed": "1970-01-01T00:00:00Z",
        "accent": "caf\u{E9}",
    ]

    @Test func `values are read and written without a codec`() throws {
        let ticket = try Ticket(json: Self.whole)
        #expect(ticket.repairs.isEmpty && ticket.json == Self.whole)
        #expect(ticket.at == Date(timeIntervalSince1970: 1_717_156_800.25) && ticket.price == Decimal(string: "12.5"))
        #expect(ticket.token == UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"))
        #expect(ticket.page.host() == "example.com" && ticket.size == .large && ticket.level == .second)
        #expect(ticket.sizes == [.small, .large] && ticket.levels == ["a": .first] && ticket.flags == [.new, .sold])
        #expect(ticket.other == .small && ticket.others == [.large] && ticket.closed == Date(timeIntervalSince1970: 0))
        // All values are written by the codecs, because they are set.
        let copy = Ticket()
        for (key, value) in ticket.snapshot { try copy.set(key, to: value) }
        #expect(copy.changedJSON == Self.whole)
    }

    @Test(
        arguments: [
            ("at", "yesterday", Repair.Reason.refused("is not a date with time, such as 2031-12-24T18:30:00Z")),
            ("at", 7, .wrongType), ("at", nil, .null),
            ("token", "7", .refused("is not a UUID")),
            ("page", "a b", .refused("is not a URL with a scheme, such as https://example.com")),
            ("page", "/a", .refused("is not a URL with a scheme, such as https://example.com")),
            ("size", "huge", .refused("is none of the known values")), ("size", 1, .wrongType),
            ("level", 9, .refused("is none of the known values")), ("price", "12", .wrongType),
            ("other", "huge", .refused("is none of the known values")),
        ] as [(String, JSONValue, Repair.Reason)]) func `a value that cannot be read is a repair with a reason`(
            key: String, json: JSONValue, reason: Repair.Reason
        ) throws
    {
        guard case .object(var object) = Self.whole else { return }
        object[key] = json
        let ticket = try Ticket(json: .object(object))
        #expect(ticket.repairs.map(\.path) == [key] && ticket.repairs.map(\.reason) == [reason])
        #expect(ticket.json == .object(object))
    }

    @Test func `an element that is no raw value is left out`() throws {
        let ticket = try Ticket(json: [
            "sizes": ["small", "huge"], "levels": ["a": 1, "b": 7], "others": ["huge", 7],
        ])
        #expect(ticket.sizes == [.small] && ticket.levels == ["a": .first] && ticket.others == [])
        let paths = ticket.repairs.filter { $0.reason != .missing }.map(\.description).sorted()
        #expect(
            paths == [
                "levels.b is none of the known values", "others[0] is none of the known values",
                "others[1] is a number",
                "sizes[1] is none of the known values",
            ])
    }

    @Test func `a nullable value is null`() throws {
        let ticket = try Ticket(json: Self.whole)
        for key in ["other", "others", "closed"] { try ticket.set(key, to: nil) }
        #expect(ticket.changedJSON == ["other": nil, "others": nil, "closed": nil])
    }

    @Test func `a raw value with other bytes is not the known one`() throws {
        let ticket = try Ticket(json: ["accent": "caf\u{65}\u{301}"])
        #expect(ticket.repairs.contains { $0.path == "accent" && $0.reason != .missing })
        #expect(try Ticket(json: ["accent": "caf\u{E9}"]).accent == .coffee)
    }
}

private final class Ticket: Model {
    enum Size: String { case small, large }
    enum Level: Int { case first = 1, second }
    enum Accent: String { case none = "", coffee = "caf\u{E9}" }

    struct Flags: OptionSet {
        static let new = Flags(rawValue: 1)
        static let sold = Flags(rawValue: 2)
        let rawValue: Int
    }

    static let at: Property<Ticket, Date> = Property(\.at, "at")
    static let price: Property<Ticket, Decimal> = Property(\.price, "price")
    static let token: Property<Ticket, UUID> = Property(\.token, "token")
    static let page: Property<Ticket, URL> = Property(\.page, "page")
    static let size: Property<Ticket, Size> = Property(\.size, "size")
    static let level: Property<Ticket, Level> = Property(\.level, "level")
    static let sizes: Property<Ticket, [Size]> = Property(\.sizes, "sizes")
    static let levels: Property<Ticket, [String: Level]> = Property(\.levels, "levels")
    static let flags: Property<Ticket, Flags> = Property(\.flags, "flags")
    static let other: Property<Ticket, Size?> = Property(nullable: \.other, "other")
    static let others: Property<Ticket, [Size]?> = Property(nullable: \.others, "others")
    static let closed: Property<Ticket, Date?> = Property(nullable: \.closed, "closed")
    static let accent: Property<Ticket, Accent> = Property(\.accent, "accent")

    var at = Date.distantPast
    var price = Decimal.zero
    var token = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    var page = URL(filePath: "/")
    var size = Size.small
    var level = Level.first
    var sizes: [Size] = []
    var levels: [String: Level] = [:]
    var flags: Flags = []
    var other: Size?
    var others: [Size]?
    var closed: Date?
    var accent = Accent.none

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        at = visitor.visit(Self.at, with: at)
        price = visitor.visit(Self.price, with: price)
        token = visitor.visit(Self.token, with: token)
        page = visitor.visit(Self.page, with: page)
        size = visitor.visit(Self.size, with: size)
        level = visitor.visit(Self.level, with: level)
        sizes = visitor.visit(Self.sizes, with: sizes)
        levels = visitor.visit(Self.levels, with: levels)
        flags = visitor.visit(Self.flags, with: flags)
        other = visitor.visit(Self.other, with: other)
        others = visitor.visit(Self.others, with: others)
        closed = visitor.visit(Self.closed, with: closed)
        accent = visitor.visit(Self.accent, with: accent)
    }
}
