#if Tools
import Foundation

/// The frame of every page.
struct Layout {
    /// A link at the top.
    struct Link {
        let path: String
        let name: String
        var isCurrent = false
    }

    let title: String
    let place: String
    let isWritable: Bool
    let pages: [Link]
    let notice: String?

    /// The links at the top of every page.
    static let sections = [
        Link(path: "/", name: "Overview"), Link(path: "/entries", name: "Entries"),
        Link(path: "/timeline", name: "Timeline"), Link(path: "/queue", name: "Queue"),
        Link(path: "/send", name: "Send"),
    ]
}

/// A value to choose in a form.
struct Choice {
    let value: String
    let name: String
    let isSelected: Bool
}

extension Inspector {
    /// Renders a page.
    ///
    /// - Parameters:
    ///   - template: The name of the template, which has its value as `page`.
    ///   - title: The title and heading.
    ///   - section: The path of the link at the top that is marked.
    func page(
        _ template: String, title: String, section: String, _ value: any Sendable, status: Int = 200
    ) -> PageResponse {
        .html(render(template, title: title, section: section, value, notice: notice()), status: status)
    }

    /// Renders a problem.
    ///
    /// - Parameter isKnown: whether the browser may see which store it is.
    func problemPage(_ problem: PageProblem, isKnown: Bool) -> String {
        let value = ["message": problem.message]
        guard isKnown else { return Templates.render("problem", ["layout": Layout.unknown, "page": value]) }
        return render("problem", title: "Problem", section: "", value, notice: nil)
    }

    private func render(_ template: String, title: String, section: String, _ value: any Sendable, notice: String?)
        -> String
    {
        let pages = Layout.sections.map { Layout.Link(path: $0.path, name: $0.name, isCurrent: $0.path == section) }
        let layout = Layout(title: title, place: placeName, isWritable: isWritable, pages: pages, notice: notice)
        return Templates.render(template, ["layout": layout, "page": value])
    }
}

extension Layout {
    fileprivate static var unknown: Layout {
        Layout(title: "No access", place: "", isWritable: false, pages: [], notice: nil)
    }
}
#endif
