/** Tabs, as the ARIA practices describe them: arrows, Home and End move the focus, and the focused tab is shown. */
import { h } from './dom.mjs';

let count = 0;

const tabButton = (prefix, id, title, onclick) => h('button', {
  type: 'button', role: 'tab', id: `${prefix}-${id}`, dataset: { tab: id }, 'aria-controls': `${prefix}-${id}-panel`, onclick,
}, title);
const tabPanel = (prefix, id) => h('div', {
  class: 'tab-panel', role: 'tabpanel', id: `${prefix}-${id}-panel`, dataset: { panel: id },
  tabindex: 0, 'aria-labelledby': `${prefix}-${id}`, hidden: true,
});

/**
 * @param {{ label: string, tabs: { id: string, title: string }[], selected?: string,
 *   onselect?: (id: string, panel: HTMLElement) => void }} options
 * @returns {{ element: HTMLElement, panel: (id: string) => HTMLElement,
 *   select: (id: string) => void, selected: () => string, mark: (id: string, on: boolean) => void }}
 *   `element` holds the tabs and their panels; `mark` puts a dot on a tab
 */
export function createTabs({ label, tabs, selected = tabs[0].id, onselect }) {
  const prefix = `tabs-${++count}`;
  const buttons = new Map();
  const panels = new Map();
  let current = null;

  const show = (id, focus = false) => {
    if (!buttons.has(id)) id = tabs[0].id;
    current = id;
    buttons.forEach((button, of) => {
      button.setAttribute('aria-selected', String(of === id));
      button.tabIndex = of === id ? 0 : -1;
      panels.get(of).hidden = of !== id;
    });
    if (focus) buttons.get(id).focus();
    onselect?.(id, panels.get(id));
  };
  const step = (event) => {
    const at = tabs.findIndex(({ id }) => id === current);
    const to = {
      ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(tabs[(to + tabs.length) % tabs.length].id, true);
  };

  for (const { id, title } of tabs) {
    buttons.set(id, tabButton(prefix, id, title, () => show(id)));
    panels.set(id, tabPanel(prefix, id));
  }
  const list = h('div', { class: 'tab-list', role: 'tablist', 'aria-label': label, onkeydown: step },
    [...buttons.values()]);
  const element = h('div', { class: 'tabs' }, list, [...panels.values()]);
  show(selected);
  return {
    element,
    panel: (id) => panels.get(id),
    select: show,
    selected: () => current,
    mark: (id, on) => buttons.get(id).classList.toggle('marked', on),
  };
}
