#if Macros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("The problems that @Modeled reports") struct ModeledProblemTests {
    /// A member that is refused.
    struct Member: Sendable, CustomTestStringConvertible {
        let code: String
        let column: Int
        let message: String
        /// The messages of the solutions, and the code that each produces.
        var solutions: [(say: String, code: String)] = []
        /// The code without the attributes that are read.
        var bare: String?

        var testDescription: String { code }
    }

    @Test(arguments: [
        Member(
            code: "var name: String", column: 9, message: "'name' needs a default: the value that a new object has",
            solutions: [("give it a default", #"var name: String = """#)]),
        Member(
            code: "var size: Size // in m²", column: 9,
            message: "'size' needs a default: the value that a new object has",
            solutions: [("give it a default", "var size: Size = <#default#> // in m²")]),
        Member(
            code: "var tags: [String]", column: 9, message: "'tags' needs a default: the value that a new object has",
            solutions: [("give it a default", "var tags: [String] = []")]),
        Member(
            code: "let rows: ModelCollection<Row>", column: 9,
            message: "'rows' needs a default: the value that a new object has",
            solutions: [("give it a default", "let rows: ModelCollection<Row> = ModelCollection<Row>()")]),
        Member(
            code: "var next = City()", column: 9,
            message:
                "'next' would create objects without end: make it '@Nullable var next: City?', nil at first"),
        Member(
            code: "/// A name.\n    var nick: String?", column: 15,
            message: "'nick' is optional: give it a default that is not nil, or mark it '@Nullable'",
            solutions: [
                ("mark it '@Nullable'", "/// A name.\n    @Nullable var nick: String?"),
                ("use 'String' with a default", "/// A name.\n    var nick: String = \"\""),
            ]),
        Member(
            code: "var size: Optional<Size> = nil", column: 15,
            message: "'size' is optional: give it a default that is not nil, or mark it '@Nullable'",
            solutions: [("mark it '@Nullable'", "@Nullable var size: Optional<Size> = nil")]),
        Member(
            code: "let limit = 3", column: 5,
            message: "'limit' is a constant, which no JSON can set: make it a 'var', or 'static'",
            solutions: [("use 'var'", "var limit = 3")]),
        Member(
            code: "var rows = ModelCollection<Row>()", column: 5,
            message: "a collection must be a 'let': its models change, and it reports that",
            solutions: [("use 'let'", "let rows = ModelCollection<Row>()")]),
        Member(
            code: "var parts: [City] = []", column: 9, message: "an array of models is a ModelCollection<City>",
            solutions: [("use 'ModelCollection<City>'", "let parts = ModelCollection<City>()")]),
        Member(
            code: "var parts = [Model]()", column: 9, message: "an array of models is a ModelCollection<Model>",
            solutions: [("use 'ModelCollection<Model>'", "let parts = ModelCollection<Model>()")]),
        Member(
            code: "private let parts: Array<Place> = []", column: 17,
            message: "an array of models is a ModelCollection<Place>",
            solutions: [("use 'ModelCollection<Place>'", "private let parts = ModelCollection<Place>()")]),
        Member(
            code: "var text = NSMutableString()", column: 9,
            message: "'NSMutableString' can change unnoticed: use a value, a Model or a ModelCollection"),
        Member(
            code: "var bag: Foundation.NSCountedSet = []", column: 9,
            message: "'NSCountedSet' can change unnoticed: use a value, a Model or a ModelCollection"),
        Member(
            code: #"var name = "" { didSet { go() } }"#, column: 19,
            message: "'name' cannot have 'willSet' or 'didSet': observe the model instead",
            solutions: [("remove the observers", #"var name = """#)]),
        Member(
            code: "private var a = 1, b: Int = 2", column: 17, message: "declare one property at a time",
            solutions: [("declare each by itself", "private var a = 1\n    private var b: Int = 2")]),
        Member(
            code: "var a, b: Int", column: 9, message: "declare one property at a time"),
        Member(
            code: "var (a, b) = (1, 2)", column: 9,
            message: "a property has one name: declare the parts of a pattern one at a time"),
        Member(
            code: "var size = standard // in m²", column: 9,
            message: "'size' needs a written type: its initial value does not name it",
            solutions: [("write its type", "var size: <#type#> = standard // in m²")]),
        Member(
            code: "@Server @Transient var id = 0", column: 5,
            message: "'@Transient' and '@Server' exclude each other: remove one",
            bare: "var id = 0"),
        Member(
            code: "@Key(\"n\") var upper: String { \"\" }", column: 5,
            message: "'@Key' is for stored properties that are neither static nor lazy nor weak",
            bare: "var upper: String { \"\" }"),
    ]) func `a member that cannot be a property is refused, with what to do about it`(member: Member) {
        func code(_ line: String) -> String { "final class City: Place {\n    \(line)\n}" }
        let lines = member.code.split(separator: "\n").count
        let problem = DiagnosticSpec(
            message: member.message, line: 1 + lines, column: member.column,
            fixIts: member.solutions.map { FixItSpec(message: $0.say) })
        for solution in member.solutions {
            Expansion.expect(
                "@Modeled " + code(member.code), toBecome: code(member.bare ?? member.code), problems: [problem],
                solution: solution.say, fixed: "@Modeled " + code(solution.code))
        }
        guard member.solutions.isEmpty else { return }
        Expansion.expect(
            "@Modeled " + code(member.code), toBecome: code(member.bare ?? member.code), problems: [problem])
    }

    @Test(arguments: [
        ("struct City {}", 1, "'@Modeled' is for classes: make this a class", "final class City {}"),
        ("actor City {}", 1, "'@Modeled' is for classes: make this a class", "final class City {}"),
        ("enum City {}", 1, "'@Modeled' is for classes: make this a class", nil),
        (
            "class City {\n    var a = 0\n}", 16, "'City' must inherit from 'Model', or from a class that does",
            "class City: Model {\n    var a = 0\n}"
        ),
        (
            "class Box<Value>: Model {\n    var a = 0\n}", 16,
            "a generic class cannot store the constants of its properties: declare them by hand, in another type", nil
        ),
    ]) func `a type that cannot be a model class is refused`(
        code: String, column: Int, message: String, fixed: String?
    ) {
        let solution = fixed == nil ? nil : code.hasPrefix("class") ? "inherit from 'Model'" : "make it a 'final class'"
        let problem = DiagnosticSpec(
            message: message, line: 1, column: column, fixIts: solution.map { [FixItSpec(message: $0)] } ?? [])
        Expansion.expect(
            "@Modeled \(code)", toBecome: code, problems: [problem], solution: solution,
            fixed: fixed.map { "@Modeled \($0)" })
    }

    @Test func `a class in a generic type is refused`() {
        Expansion.expect(
            "enum Space<Value> {\n    @Modeled class Box: Model {\n        var a = 0\n    }\n}",
            toBecome: "enum Space<Value> {\n    class Box: Model {\n        var a = 0\n    }\n}",
            problems: [
                DiagnosticSpec(
                    message: "a generic class cannot store the constants of its properties: declare them by hand, "
                        + "in another type",
                    line: 2, column: 20)
            ])
    }

    @Test func `a property under a condition is refused`() {
        let code = "final class City: Model {\n#if DEBUG\n    var name = \"\"\n#endif\n}"
        Expansion.expect(
            "@Modeled \(code)", toBecome: code,
            problems: [
                DiagnosticSpec(
                    message: "a property of a class marked '@Modeled' cannot be inside '#if'", line: 3, column: 5)
            ])
    }

    @Test(arguments: ["Key", "Rule", "Server", "Transient", "Nullable"])
    func `an attribute outside a class marked Modeled is refused`(name: String) {
        Expansion.expect(
            "final class City: Model {\n    @\(name) var name = \"\"\n}",
            toBecome: "final class City: Model {\n    var name = \"\"\n}",
            problems: [
                DiagnosticSpec(
                    message: "'@\(name)' is for the properties of a class marked '@Modeled'", line: 2, column: 5)
            ])
    }

    @Test func `a property that is refused does not affect the others`() {
        Expansion.expect(
            "@Modeled class City: Model {\n    var a: Int\n    @Server var id = 0\n}",
            toBecome: #"""
                class City: Model {
                    var a: Int
                    var id {
                        get {
                            read(City.id, from: _id)
                        }
                    }

                    static let id: Property<City, Int> = Property(\City.id, "id", access: .server)

                    private var _id = 0

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _id = visitor.visit(City.id, with: _id)
                    }
                }
                """#,
            problems: [
                DiagnosticSpec(
                    message: "'a' needs a default: the value that a new object has", line: 2, column: 9,
                    fixIts: [FixItSpec(message: "give it a default")])
            ])
    }
}
#endif
