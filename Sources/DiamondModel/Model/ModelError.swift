/// An error of models, their contexts and collections.
public struct ModelError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable {
        let name: String

        /// The text is not JSON, or its top level is of another kind.
        public static let malformed = Code(name: "malformed")
        /// Strict reading met JSON that needed repairs.
        public static let needsRepair = Code(name: "needsRepair")
        /// Values break rules of properties that reject them; nothing was written.
        public static let invalid = Code(name: "invalid")
        /// The object is of a class other than the one that was asked for.
        public static let wrongClass = Code(name: "wrongClass")
        /// Another live model has the id.
        public static let duplicateID = Code(name: "duplicateID")
        /// The object has no id, or one that is neither text nor a whole number.
        public static let missingID = Code(name: "missingID")
        /// The model is of another context.
        public static let otherContext = Code(name: "otherContext")
        /// The property does not exist, or only the server may set it.
        public static let notSettable = Code(name: "notSettable")
        /// The value has no JSON: a number in it is not finite.
        public static let notWritable = Code(name: "notWritable")
        /// The index is not one of the collection.
        public static let outOfRange = Code(name: "outOfRange")
        /// The model is not in the collection.
        public static let notAMember = Code(name: "notAMember")
        /// The model has no engine to be loaded or saved by.
        public static let noEngine = Code(name: "noEngine")
        /// The model has no URL to be loaded from or saved to.
        public static let noResource = Code(name: "noResource")
        /// The server has answered for another object.
        public static let otherObject = Code(name: "otherObject")
    }

    public let code: Code
    /// A description of the error, with its remedy.
    public let message: String
    /// The repairs that strict reading would have needed.
    public let repairs: [Repair]
    /// The rules that were broken.
    public let violations: [Violation]

    init(_ code: Code, _ message: String, repairs: [Repair] = [], violations: [Violation] = []) {
        self.code = code
        self.message = message
        self.repairs = repairs
        self.violations = violations
    }

    public var description: String { "\(code.name): \(message)" }
}

extension ModelError {
    static func duplicate(_ id: ModelID) -> ModelError {
        ModelError(.duplicateID, "another live model has the id \(id): merge its JSON into that one instead")
    }

    static func invalid(_ violations: [Violation]) -> ModelError {
        let list = violations.map(\.description).joined(separator: ", ")
        return ModelError(.invalid, "\(list): nothing was written, correct the values first", violations: violations)
    }
}
