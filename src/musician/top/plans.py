"""Every plan, open or archived. An archived one has the same screens, only to look at."""

from musician.project import Project
from musician.reporting.overview import Overview
from musician.reporting.plan_list import ListedPlan, list_plans
from musician.top.home import Home
from musician.top.page import Folded, Page
from musician.top.rows import Row, row


class Plans(Page):
    def fold(self, _: Overview, project: Project) -> Folded:
        plans = list_plans(project.store)
        width = max((len(each.plan_id) for each in plans), default=0)
        rows = [_plan_row(each, width) for each in plans]
        return (("Plans", "bold"),), rows or [row("none", "No plan yet.")]

    def open_row(self, opens: object) -> None:
        match opens:
            case ListedPlan(is_away=True, plan_id=plan_id):
                self.app.push_screen(Home(plan_id))
            case ListedPlan():
                self.top.action_go(1)


def _plan_row(plan: ListedPlan, width: int) -> Row:
    why = f": {plan.abandoned}" if plan.abandoned else ""
    state = plan.state if plan.paused is None else plan.paused.said
    ended = f" to {plan.ended_at}" if plan.ended_at else ""
    return Row(
        key=f"plan-{plan.plan_id}",
        parts=(
            (f"{plan.plan_id:<{width}}", "bold"),
            (f"  {plan.tally.said}  {state}{why}", ""),
            (f"  {plan.title}", ""),
            (f"  {plan.locked_at}{ended} UTC", "dim"),
        ),
        opens=plan,
        begins=True,
    )
