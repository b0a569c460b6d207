import DiamondSQLite
import Foundation

/// The content of a sealed answer.
private struct AnswerContent: Codable {
    var location: String?
    var headers: Data?
    var body: Data?
}

extension ReplaySealing {
    /// Returns an answer whose body is the sealed content, bound to the job and the status.
    func sealed(_ answer: ReplayAnswer, of id: Int64) throws(SQLiteError) -> ReplayAnswer {
        let content = AnswerContent(location: answer.location, headers: answer.headerBlock, body: answer.body)
        // Texts and bytes can always be encoded.
        let bytes = (try? JSONEncoder().encode(content)) ?? Data()
        let sealed = try sealed(bytes, .answer, of: "\(id) \(answer.status.code)")
        return ReplayAnswer(status: answer.status, body: sealed, receivedAt: answer.receivedAt)
    }

    /// Opens an answer; `nil` if it is not authentic.
    func opened(_ answer: ReplayAnswer, of id: Int64) throws(SQLiteError) -> ReplayAnswer? {
        guard let sealed = answer.body,
            let bytes = try opened(sealed, .answer, of: "\(id) \(answer.status.code)"),
            let content = try? JSONDecoder().decode(AnswerContent.self, from: bytes)
        else { return nil }
        return ReplayAnswer(
            status: answer.status, location: content.location,
            headers: content.headers.map { HeaderBlock.fields(of: $0) } ?? [:], body: content.body,
            receivedAt: answer.receivedAt)
    }
}
