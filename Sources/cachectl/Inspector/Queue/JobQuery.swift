#if Tools
import Diamond
import Foundation

/// The filter of a list of jobs, in the fields of a URL or a form.
struct JobQuery {
    private static let path = "/queue/jobs"
    /// The names of the fields.
    private static let names = ["state", "match", "error", "key", "lane"]

    /// The fields that are not empty.
    let fields: [NamedValue]
    let filter: JobFilter

    init(_ form: FormFields) throws(PageProblem) {
        // The spaces of keys and lanes count.
        fields = Self.names.map {
            NamedValue(name: $0, value: ["key", "lane"].contains($0) ? form[text: $0] : form[$0])
        }
        .filter { !$0.value.isEmpty }
        let values = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
        var filter = JobFilter(match: try Self.pattern(values["match"]), error: try Self.pattern(values["error"]))
        if let name = values["state"] { filter.fields.states = [try Self.state(name)] }
        filter.fields.orderingKey = values["key"]
        filter.fields.lane = values["lane"].map { Lane($0) }
        self.filter = filter
    }

    private static func state(_ name: String) throws(PageProblem) -> ReplayState {
        guard let state = ReplayState(name) else { throw PageProblem(message: "There is no such state.") }
        return state
    }

    private static func pattern(_ text: String?) throws(PageProblem) -> TextPattern? {
        guard let text else { return nil }
        guard let pattern = TextPattern(argument: text) else {
            throw PageProblem(message: "A text to look for needs more than *.")
        }
        return pattern
    }

    /// The value of a field; empty if it is not given.
    subscript(name: String) -> String { fields.first { $0.name == name }?.value ?? "" }

    /// Returns the address of the list.
    ///
    /// - Parameter id: The last job of the previous page; 0 for the first page.
    func address(after id: ReplayJob.ID = 0) -> String {
        FormFields(fields.map { ($0.name, $0.value) }).address(Self.path, replacing: "after", with: "\(id)")
    }

    /// Returns the address of the list with one field.
    static func address(field: String, value: String) -> String {
        FormFields().address(path, replacing: field, with: value)
    }
}
#endif
