import Diamond
import DiamondModel
import Foundation
import Testing

/// The reasons of rules and codecs, as a form shows them.
@Suite("The reasons of rules and codecs") struct ReasonTests {
    @Test(
        arguments: [
            ("name", "", "must not be empty"), ("stars", 0, "must not be zero"), ("agrees", false, "must be true"),
            ("age", 17, "must be at least 18"), ("size", 11, "must be from 1 to 10"),
            ("share", 1, "must be at least 0.0, and less than 1.0"), ("low", 6, "must be at most 5"),
            ("cold", 0, "must be less than 0"), ("even", 3, "must be even"), ("odd", 2, "breaks the rule odd"),
        ] as [(String, JSONValue, String)]) func `a violation has the reason of its rule`(
            key: String, json: JSONValue, reason: String
        ) throws
    {
        let form = Form()
        #expect(form.violations.map(\.reason) == ["is required"])
        try form.set("code", to: "12345")
        #expect(form.violations.isEmpty)
        try form.set(key, to: json)
        #expect(form.violations.map(\.key) == [key] && form.violations.map(\.reason) == [reason])
    }

    @Test(
        arguments: [
            ("code", "123", "has five digits"), ("day", "31.12.", "Write a day, such as 31.12.2031"),
            ("age", "old", "cannot be a string"), ("id", nil, "cannot be removed"),
        ] as [(String, JSONValue, String)]) func `a rejection of a write by key has the reason of the codec`(
            key: String, json: JSONValue, reason: String
        ) throws
    {
        let form = try Form(json: ["id": 7, "code": "12345"])
        let error = #expect(throws: ModelError.self) { try form.set(key, to: json) }
        #expect(form.rejections.map(\.key) == [key] && form.rejections.map(\.reason) == [reason])
        if key != "id" { #expect(error?.message.contains(reason) == true) }
    }

    @Test func `a repair has the reason of the codec, and the next repair has its own`() throws {
        let form = try Form(json: ["id": 7, "code": "123", "day": 7, "age": "old"])
        let repairs = form.repairs.filter { $0.reason != .missing }
        #expect(
            Set(repairs.map(\.description)) == [
                "code has five digits", "day Write a day, such as 31.12.2031", "age is a string",
            ])
        #expect(repairs.first { $0.path == "code" }?.reason == .refused("has five digits"))
    }

    @Test func `a value that a setter rejects has the reason of its rule`() throws {
        let form = try Form(json: ["id": 7, "strict": 2])
        try? form.set("strict", to: 3)
        #expect(form.rejections.map(\.rule) == ["even"] && form.rejections.map(\.reason) == ["must be even"])
        let error = #expect(throws: ModelError.self) { try form.merge(["strict": 5]) }
        #expect(error?.violations.map(\.reason) == ["must be even"])
    }
}

private final class Form: Model {
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    struct Message: LocalizedError {
        var errorDescription: String? { "Write a day, such as 31.12.2031" }
    }

    private static let even = Rule<Int>("even", reason: "must be even") { $0.isMultiple(of: 2) }
    private static let digits = Codec<String>(
        decode: { json in
            guard let text = String(json: json), text.count == 5 else { throw Refusal(description: "has five digits") }
            return text
        }, encode: { $0.json })
    private static let dayCodec = Codec<String>(decode: { _ in throw Message() }, encode: { $0.json })

    static let id: Property<Form, Int> = Property(\._id, "id")
    static let code: Property<Form, String> = Property(\.code, "code", codec: digits, rules: [.required])
    static let day: Property<Form, String> = Property(\.day, "day", codec: dayCodec)
    static let name: Property<Form, String> = Property(\.name, "name", rules: [.nonEmpty])
    static let stars: Property<Form, Int> = Property(\.stars, "stars", rules: [.nonZero])
    static let agrees: Property<Form, Bool> = Property(\.agrees, "agrees", rules: [.isTrue])
    static let age: Property<Form, Int> = Property(\.age, "age", rules: [.range(18...)])
    static let size: Property<Form, Int> = Property(\.size, "size", rules: [.range(1...10)])
    static let share: Property<Form, Double> = Property(\.share, "share", rules: [.range(0..<1)])
    static let low: Property<Form, Int> = Property(\.low, "low", rules: [.range(...5)])
    static let cold: Property<Form, Int> = Property(\.cold, "cold", rules: [.range(..<0)])
    static let evenNumber: Property<Form, Int> = Property(\.evenNumber, "even", rules: [even])
    static let odd: Property<Form, Int> = Property(\.odd, "odd", rules: [Rule("odd") { !$0.isMultiple(of: 2) }])
    static let strict: Property<Form, Int> = Property(\.strict, "strict", rules: [even], policy: .reject)

    var _id = 0
    var code = ""
    var day = ""
    var name = "A"
    var stars = 1
    var agrees = true
    var age = 18
    var size = 1
    var share = 0.0
    var low = 5
    var cold = -1
    var evenNumber = 2
    var odd = 1
    var strict = 2

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        code = visitor.visit(Self.code, with: code)
        day = visitor.visit(Self.day, with: day)
        name = visitor.visit(Self.name, with: name)
        stars = visitor.visit(Self.stars, with: stars)
        agrees = visitor.visit(Self.agrees, with: agrees)
        age = visitor.visit(Self.age, with: age)
        size = visitor.visit(Self.size, with: size)
        share = visitor.visit(Self.share, with: share)
        low = visitor.visit(Self.low, with: low)
        cold = visitor.visit(Self.cold, with: cold)
        evenNumber = visitor.visit(Self.evenNumber, with: evenNumber)
        odd = visitor.visit(Self.odd, with: odd)
        strict = visitor.visit(Self.strict, with: strict)
    }
}
