import DiamondSQLite
public import Foundation
import HTTPTypes

/// The content of an answer, as it is sealed, and as the ``AnswerLog`` has it.
private struct AnswerContent: Codable {
    var location: String?
    var headers: Data?
    var body: Data?

    init(_ answer: ReplayAnswer) {
        location = answer.location
        headers = answer.headerBlock
        body = answer.body
    }

    /// The written form. Texts and bytes can always be encoded.
    var bytes: Data { (try? JSONEncoder().encode(self)) ?? Data() }

    func answer(_ status: HTTPResponse.Status) -> ReplayAnswer {
        ReplayAnswer(
            status: status, location: location, headers: headers.map { HeaderBlock.fields(of: $0) } ?? [:], body: body)
    }
}

extension ReplayAnswer {
    /// The status of the answer, such as 201.
    public var statusCode: Int { status.code }

    /// All but the status, in a written form.
    public var content: Data { AnswerContent(self).bytes }

    /// Creates an answer from its status and its written form; `nil` if the form is no answer's.
    public init?(statusCode: Int, content: Data) {
        guard (100...999).contains(statusCode),
            let written = try? JSONDecoder().decode(AnswerContent.self, from: content)
        else { return nil }
        self = written.answer(HTTPResponse.Status(code: statusCode))
    }
}

extension ReplaySealing {
    /// Returns an answer whose body is the sealed content, bound to the job and the status.
    func sealed(_ answer: ReplayAnswer, of id: Int64) throws(SQLiteError) -> ReplayAnswer {
        let sealed = try sealed(answer.content, .answer, of: "\(id) \(answer.status.code)")
        return ReplayAnswer(status: answer.status, body: sealed)
    }

    /// Opens an answer; `nil` if it is not authentic.
    func opened(_ answer: ReplayAnswer, of id: Int64) throws(SQLiteError) -> ReplayAnswer? {
        guard let sealed = answer.body,
            let bytes = try opened(sealed, .answer, of: "\(id) \(answer.status.code)")
        else { return nil }
        return ReplayAnswer(statusCode: answer.statusCode, content: bytes)
    }
}

extension SQLiteConnection {
    /// Returns the content of an answer for the ``AnswerLog``, sealed in a sealed queue; `nil` for none, or if another
    /// program has sealed the queue, and this one has no seal.
    func logged(_ answer: ReplayAnswer?, of id: Int64) throws(SQLiteError) -> Data? {
        guard let answer else { return nil }
        if let sealing { return try sealing.sealed(answer, of: id).body }
        return try ReplayTable.secret(on: self) == nil ? answer.content : nil
    }

    /// Returns the answer of a logged content; `nil` if it is not authentic.
    func answer(logged content: Data, status: Int, of id: Int64) throws(SQLiteError) -> ReplayAnswer? {
        guard let sealing else { return ReplayAnswer(statusCode: status, content: content) }
        return try sealing.opened(ReplayAnswer(status: HTTPResponse.Status(code: status), body: content), of: id)
    }
}
