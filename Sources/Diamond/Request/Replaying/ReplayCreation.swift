import Foundation

/// The object that a queued request creates, and the place of its id in the answer.
///
/// Any process can then put the id into the requests that wait for it, without the class of the object.
package struct ReplayCreation: Hashable, Sendable {
    /// The local id of the object.
    package let localID: String
    /// The names of the members that lead to the id in the answer's JSON, the most reliable path first. If none of them
    /// has an id, the last segment of `Location` is the id (RFC 9110 section 15.3.2). Without paths, only a program that
    /// has the class can read the id.
    package let paths: [[String]]

    package init(_ localID: String, paths: [[String]]) {
        self.localID = localID
        self.paths = paths
    }

    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the creation")
        guard let localID = try form.string("localID") else {
            throw form.failure(at: "localID", "is missing: write the local id of the object")
        }
        self.localID = localID
        var paths: [[String]] = []
        for path in try form.array("paths") {
            guard case .array(let names) = path else { throw form.failure(at: "paths", "holds no array: write [[…]]") }
            paths.append(names.compactMap(\.text))
        }
        self.paths = paths
        try form.finish()
    }

    var written: JSONValue {
        .object([
            "localID": .string(localID), "paths": .array(paths.map { .array($0.map { .string($0) }) }),
        ])
    }
}

extension JSONValue {
    /// The text; `nil` for other values.
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }

    /// Whether the value is an id of an object: a whole number, or a text that is not empty.
    var isID: Bool {
        if case .string(let text) = self { !text.isEmpty } else { integerText != nil }
    }

    /// Creates the id in the last segment of the URL of a new object; `nil` if there is none.
    package init?(idInLocation location: String) {
        let path = location.prefix { $0 != "?" && $0 != "#" }
        guard let last = path.split(separator: "/").last, let text = last.removingPercentEncoding, !text.isEmpty
        else { return nil }
        // A text such as `007` is no number.
        if let number = UInt64(text), String(number) == text {
            self = JSONValue(number)
        } else {
            self = .string(text)
        }
    }
}
