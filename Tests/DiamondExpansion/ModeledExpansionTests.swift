#if Macros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("The expansion of @Modeled") struct ModeledExpansionTests {
    @Test func `a property becomes a constant, storage, accessors and a line in visit`() {
        Expansion.expect(
            """
            @Modeled final class City: Model {
                /// Its name.
                var name = ""
            }
            """,
            toBecome: #"""
                final class City: Model {
                    /// Its name.
                    var name {
                        get {
                            read(Self.name, from: _name)
                        }
                        set {
                            write(Self.name, from: _name, to: newValue) {
                                _name = $0
                            }
                        }
                    }

                    static let name: Property<City, String> = Property(\City.name, "name")

                    private var _name = ""

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(Self.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `a collection becomes a constant and a line in visit`() {
        Expansion.expect(
            """
            @Modeled final class City: Model {
                let districts = ModelCollection<District>()
                let sights: DiamondModel.ModelCollection<Sight> = .init()
            }
            """,
            toBecome: #"""
                final class City: Model {
                    let districts = ModelCollection<District>()

                    static let districts: Property<City, ModelCollection<District>> = Property(\City.districts, "districts")
                    let sights: DiamondModel.ModelCollection<Sight> = .init()

                    static let sights: Property<City, DiamondModel.ModelCollection<Sight>> = Property(\City.sights, "sights")

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        visitor.visit(Self.districts, with: districts)
                        visitor.visit(Self.sights, with: sights)
                    }
                }
                """#)
    }

    @Test(arguments: [
        (#"@Key("title")"#, #"\City.name, "title""#),
        (
            #"@Key("name", or: "title", .path("names", "en"))"#,
            #"\City.name, "name", or: "title", .path("names", "en")"#
        ),
        (#"@Key(or: "title")"#, #"\City.name, "name", or: "title""#),
        (#"@Key(.path("names", "en"))"#, #"\City.name, .path("names", "en")"#),
        (#"@Key("title", codec: .url)"#, #"\City.name, "title", codec: .url"#),
        (#"@Key(codec: .url)"#, #"\City.name, "name", codec: .url"#),
        (#"@Rule(.nonEmpty)"#, #"\City.name, "name", rules: [.nonEmpty]"#),
        (
            #"@Rule(.nonEmpty, .own, policy: .reject)"#,
            #"\City.name, "name", rules: [.nonEmpty, .own], policy: .reject"#
        ),
        (#"@Rule(.nonEmpty) @Rule(.own)"#, #"\City.name, "name", rules: [.nonEmpty, .own]"#),
        (#"@Transient"#, #"\City.name, "name", access: .transient"#),
        (#"@Nullable"#, #"nullable: \City.name, "name""#),
        (
            #"@Rule(.own) @Transient @Key("n", codec: .own) @Nullable"#,
            #"nullable: \City.name, "n", codec: .own, access: .transient, rules: [.own]"#
        ),
        (#"@DiamondModel.Transient"#, #"\City.name, "name", access: .transient"#),
    ]) func `an attribute becomes an argument of the constant`(attributes: String, arguments: String) throws {
        // The test support does not remove the white space of several attributes, or an attribute with a module name.
        let rest = attributes.hasPrefix("@DiamondModel.") ? attributes : ""
        let marker = rest.isEmpty && !attributes.contains(") @") ? "" : "\(rest)\n    "
        Expansion.expect(
            """
            @Modeled final class City: Model {
                \(attributes) var name: Name = Name()
            }
            """,
            toBecome: #"""
                final class City: Model {
                    \#(marker)var name: Name {
                        get {
                            read(Self.name, from: _name)
                        }
                        set {
                            write(Self.name, from: _name, to: newValue) {
                                _name = $0
                            }
                        }
                    }

                    static let name: Property<City, Name> = Property(\#(arguments))

                    private var _name: Name = Name()

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(Self.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `a property that the server owns has no setter`() {
        Expansion.expect(
            """
            @Modeled final class City: Model {
                @Server var id = 0
            }
            """,
            toBecome: #"""
                final class City: Model {
                    var id {
                        get {
                            read(Self.id, from: _id)
                        }
                    }

                    static let id: Property<City, Int> = Property(\City.id, "id", access: .server)

                    private var _id = 0

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _id = visitor.visit(Self.id, with: _id)
                    }
                }
                """#)
    }

    @Test(arguments: [
        ("", "", ""), ("public ", "public ", "public "), ("open ", "open ", "public "),
        ("package ", "package ", "package "), ("", "private ", "private "), ("", "fileprivate ", "fileprivate "),
        ("public ", "public private(set) ", "public "), ("public ", "private(set) ", ""),
    ]) func `a constant has the access level of its property, and visit has that of the class`(
        ofClass: String, ofProperty: String, ofConstant: String
    ) {
        Expansion.expect(
            """
            @Modeled \(ofClass)class City: Model {
                \(ofProperty)var name = ""
            }
            """,
            toBecome: #"""
                \#(ofClass)class City: Model {
                    \#(ofProperty)var name {
                        get {
                            read(City.name, from: _name)
                        }
                        set {
                            write(City.name, from: _name, to: newValue) {
                                _name = $0
                            }
                        }
                    }

                    \#(ofConstant)static let name: Property<City, String> = Property(\City.name, "name")

                    private var _name = ""

                    \#(ofClass)override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(City.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `a name in backticks has a plain key and storage`() {
        Expansion.expect(
            """
            @Modeled final class City: Model {
                @Server var `default` = 0
            }
            """,
            toBecome: #"""
                final class City: Model {
                    var `default` {
                        get {
                            read(Self.`default`, from: _default)
                        }
                    }

                    static let `default`: Property<City, Int> = Property(\City.`default`, "default", access: .server)

                    private var _default = 0

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _default = visitor.visit(Self.`default`, with: _default)
                    }
                }
                """#)
    }

    @Test(
        arguments: [
            ("= \"\\(1)\"", "String"), ("= 1", "Int"), ("= -1", "Int"), ("= 1.5", "Double"), ("= -0.5", "Double"),
            ("= true", "Bool"), ("= [1, 2]", "[Int]"), ("= [1, 2.5]", "[Double]"), ("= [[\"a\"]]", "[[String]]"),
            (#"= ["a": 1]"#, "[String: Int]"), ("= (1)", "Int"), ("= 60 * 60", "Int"), (#"= "a" + "b""#, "String"),
            ("= Size()", "Size"), ("= Size.init()", "Size"), ("= Shop.Size()", "Shop.Size"), ("= [Size]()", "[Size]"),
            ("= [Size?]()", "[Size?]"), ("= [String: Size]()", "[String: Size]"), ("= Set<Size>()", "Set<Size>"),
            ("= Date.distantPast", "Date"), ("= Kind.movie", "Kind"), ("= Shop.Kind.movie", "Shop.Kind"),
            ("= Kind.of(1)", nil), (#"= URL(string: "https://a.b")!"#, "URL"), ("= 7 as Int64", "Int64"),
            (": Int8 = 1", "Int8"), (": [Kind] = []", "[Kind]"), (": any Shape = Square()", "any Shape"),
            ("= name", nil), ("= size()", nil), ("= Size().width", nil), ("= Self.usual", nil), ("= [1, Size()]", nil),
            ("= flag ? 1 : 2", nil), ("= [Size().width]", nil), ("= 7 as? Int64", nil),
        ] as [(String, String?)])
    func `a constant has the type that the initial value names, or the property is refused`(
        written: String, type: String?
    ) {
        let column = 9
        let space = written.hasPrefix(":") ? "" : " "
        let code = "final class City: Model {\n    var side\(space)\(written)\n}"
        guard let type else {
            return Expansion.expect(
                "@Modeled \(code)", toBecome: code,
                problems: [
                    DiagnosticSpec(
                        message: "'side' needs a written type: its initial value does not name it", line: 2,
                        column: column, fixIts: [FixItSpec(message: "write its type")])
                ])
        }
        let annotation = written.hasPrefix(":") ? written.prefix { $0 != "=" }.dropLast() : ""
        Expansion.expect(
            "@Modeled \(code)",
            toBecome: #"""
                final class City: Model {
                    var side\#(annotation) {
                        get {
                            read(Self.side, from: _side)
                        }
                        set {
                            write(Self.side, from: _side, to: newValue) {
                                _side = $0
                            }
                        }
                    }

                    static let side: Property<City, \#(type)> = Property(\City.side, "side")

                    private var _side\#(space)\#(written)

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _side = visitor.visit(Self.side, with: _side)
                    }
                }
                """#)
    }

    @Test func `a nullable property has an optional type`() {
        Expansion.expect(
            "@Modeled final class City: Model {\n    @Nullable var motto: String!\n}",
            toBecome: #"""
                final class City: Model {
                    var motto: String! {
                        get {
                            read(Self.motto, from: _motto)
                        }
                        set {
                            write(Self.motto, from: _motto, to: newValue) {
                                _motto = $0
                            }
                        }
                    }

                    static let motto: Property<City, String?> = Property(nullable: \City.motto, "motto")

                    private var _motto: String!

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _motto = visitor.visit(Self.motto, with: _motto)
                    }
                }
                """#)
    }

    @Test func `other members stay as they are`() {
        let members = """
                static var count: Int { 0 }
                class var kind: String { "" }
                static let limit = 3
                lazy var first = 1
                weak var friend: City?
                unowned var owner: City
                unowned(unsafe) var other: City
                var upper: String { "" }
                var both: Int { get { 0 } set {} }
                func go() { let x = 1 }
                enum Kind {
                    case a
                }
                override class var idKey: String { "key" }
            """
        let code = "final class City: Model {\n\(members)\n}"
        Expansion.expect("@Modeled \(code)", toBecome: code)
    }
}
#endif
