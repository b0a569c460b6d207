import Diamond
import Foundation

/// An error of models, their contexts and collections.
public struct ModelError: MessageError, Hashable, Sendable {
    /// The kind of an error. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The text is not JSON, or the JSON is not an object or array as required.
        public static let malformed = Code(description: "malformed")
        /// The JSON needed repairs, and strict reading was requested.
        public static let needsRepair = Code(description: "needsRepair")
        /// Values break rules of properties that reject such values. Nothing was written.
        public static let invalid = Code(description: "invalid")
        /// The object is of another class than requested.
        public static let wrongClass = Code(description: "wrongClass")
        /// Another live model has the id.
        public static let duplicateID = Code(description: "duplicateID")
        /// The object has no id, or its id is neither a text nor an integer.
        public static let missingID = Code(description: "missingID")
        /// The model belongs to another context.
        public static let otherContext = Code(description: "otherContext")
        /// The context of the model was released.
        public static let noContext = Code(description: "noContext")
        /// The property does not exist, or only the server may set it.
        public static let notSettable = Code(description: "notSettable")
        /// The value cannot be written as JSON, because a number in it is not finite.
        static let notWritable = Code(description: "notWritable")
        /// The index is not in the collection.
        public static let outOfRange = Code(description: "outOfRange")
        /// The model has no engine to load or save it.
        public static let noEngine = Code(description: "noEngine")
        /// The model has no URL.
        public static let noResource = Code(description: "noResource")
        /// The context's objects belong to another identity than the one that is signed in. Nothing was sent.
        public static let otherIdentity = Code(description: "otherIdentity")
        /// The outcome of a queued call is unknown, and the server does not support a repetition.
        public static let needsReview = Code(description: "needsReview")
        /// The response is about another object.
        public static let otherObject = Code(description: "otherObject")
    }

    public let code: Code
    /// A description of the error, with its remedy.
    public let message: String
    /// The repairs that the JSON needed, for `needsRepair`.
    public let repairs: [Repair]
    /// The broken rules, for `invalid`.
    public let violations: [Violation]

    init(_ code: Code, _ message: String, repairs: [Repair] = [], violations: [Violation] = []) {
        self.code = code
        self.message = message
        self.repairs = repairs
        self.violations = violations
    }
}

extension ModelError {
    static func duplicate(_ id: ModelID) -> ModelError {
        ModelError(.duplicateID, "another live model has the id \(id): merge its JSON into that one instead")
    }

    static func released(_ type: Model.Type) -> ModelError {
        ModelError(
            .noContext,
            "the ModelContext of this \(type) was released: retain it as long as its models are loaded and saved, or "
                + "register the model in another one")
    }

    static func invalid(_ violations: [Violation]) -> ModelError {
        let list = violations.map(\.description).joined(separator: ", ")
        return ModelError(.invalid, "\(list): nothing was written, correct the values first", violations: violations)
    }
}
