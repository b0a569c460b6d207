import Foundation
import HTTPTypes

/// The written form of an attempt, part of the written form of a ``Response``.
extension Attempt {
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "an attempt")
        guard let number = try form.integer("number", in: 1...Int.max) else {
            throw form.failure(at: "number", "is missing: count from 1")
        }
        guard let startedAt = try form.date("startedAt") else {
            throw form.failure(at: "startedAt", "is missing: write seconds since 1970")
        }
        self.init(number: number, startedAt: startedAt, outcome: try Self.outcome(&form))
        delay = try form.duration("delay", default: nil)
        if let value = form.consume("reason") {
            let reason = try CodedMessage(written: value, in: "the reason of an attempt")
            self.reason = RetryReason(RetryReason.Code(description: reason.code), reason.message)
        }
        try form.finish()
    }

    private static func outcome(_ form: inout WrittenObject) throws(RequestError) -> Outcome {
        if let code = try form.integer("status", in: 100...999) { return .answered(HTTPResponse.Status(code: code)) }
        guard let value = form.consume("error") else {
            throw form.failure(at: "status", "is missing, and so is \"error\"")
        }
        let error = try CodedMessage(written: value, in: "the error of an attempt")
        return .failed(code: error.code, message: error.message)
    }

    var written: JSONValue {
        var members: [String: JSONValue] = ["number": JSONValue(number), "startedAt": startedAt.written]
        switch outcome {
        case .answered(let status): members["status"] = JSONValue(status.code)
        case .failed(let code, let message): members["error"] = CodedMessage(code: code, message: message).written
        }
        if let delay { members["delay"] = .number(delay.writtenSeconds) }
        if let reason {
            members["reason"] = CodedMessage(code: reason.code.description, message: reason.message).written
        }
        return .object(members)
    }
}

/// A code and its message, `{"code": …, "message": …}`. A newer Diamond may have written a code that this one does not
/// know.
private struct CodedMessage {
    var code: String
    var message: String
}

extension CodedMessage {
    init(written: JSONValue, in place: String) throws(RequestError) {
        var form = try WrittenObject(written, in: place)
        guard let code = try form.string("code") else { throw form.failure(at: "code", "is missing: write a word") }
        self.init(code: code, message: try form.string("message") ?? "")
        try form.finish()
    }

    var written: JSONValue { .object(["code": .string(code), "message": .string(message)]) }
}
