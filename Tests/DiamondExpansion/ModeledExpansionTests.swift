#if Macros
import Testing

@Suite struct ModeledExpansionTests {
    @Test func `A property becomes a constant, storage, accessors and a line in visit`() {
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

                    static let name = Property(\City.name, "name")

                    private var _name = ""

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(Self.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `A collection becomes a constant and a line in visit`() {
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

                    static let districts = Property(\City.districts, "districts")
                    let sights: DiamondModel.ModelCollection<Sight> = .init()

                    static let sights = Property(\City.sights, "sights")

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
    ]) func `An attribute becomes an argument of the constant`(attributes: String, arguments: String) throws {
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

                    static let name = Property(\#(arguments))

                    private var _name: Name = Name()

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(Self.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `A property that the server owns has no setter`() {
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

                    static let id = Property(\City.id, "id", access: .server)

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
    ]) func `A constant has the access level of its property, and visit has that of the class`(
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

                    \#(ofConstant)static let name = Property(\City.name, "name")

                    private var _name = ""

                    \#(ofClass)override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _name = visitor.visit(City.name, with: _name)
                    }
                }
                """#)
    }

    @Test func `A name in backticks has a plain key and storage`() {
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

                    static let `default` = Property(\City.`default`, "default", access: .server)

                    private var _default = 0

                    override func visit(_ visitor: PropertyVisitor) {
                        super.visit(visitor)
                        _default = visitor.visit(Self.`default`, with: _default)
                    }
                }
                """#)
    }

    @Test func `Other members stay as they are`() {
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
